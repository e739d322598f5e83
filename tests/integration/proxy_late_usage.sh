#!/usr/bin/env bash
# The event with the finish_reason waits for the usage event, which holds a
# member of it, but not for long; and it is not lost if that never comes.
. "$(dirname "$0")/lib.sh"

request '"stream":true' >"$tmp/without.json"
answer=$wire/vllm/usage_ours.asked.sse
start_upstream --script <(
	jq -nc --arg file "$answer" '{stream: $file,
		fault: "hang-after-finish"}, {stream: $file,
		fault: "hang-after-finish"}')
start_proxy --dialect vllm --request-timeout 4
ask late "$tmp/without.json" --max-time 3 2>/dev/null || true
check "the finish_reason is there" grep -q '"finish_reason":"stop"' "$tmp/late"

ask never "$tmp/without.json"
check "it is" grep -q '"finish_reason":"stop"' "$tmp/never"
check_record 2 '.complete and .delivered and .finish_reason == "stop"'
