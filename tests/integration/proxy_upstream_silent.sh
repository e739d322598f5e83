#!/usr/bin/env bash
# An upstream that sends nothing for --request-timeout: 504 before the head, a
# broken answer after it.
. "$(dirname "$0")/lib.sh"

cat >"$tmp/script" <<-END
	{"fault":"silent"}
	{"chunk":"1000","delay":60000}
	{"chunk":"100","delay":60000}
	{"chunk":"800","delay":500}
END
start_upstream "${answers[@]}" --script "$tmp/script"
start_proxy --request-timeout 1

start=${EPOCHREALTIME/./}
ask answer "$tmp/stream.json"
took=$(((${EPOCHREALTIME/./} - start) / 1000))
check_status answer 504
check_error "$tmp/answer"
check "after a second, not $took ms" test "$took" -ge 900 -a "$took" -lt 3000
check_record 1 '.complete == false and .upstream.status == null and
	.upstream.attempts == 1 and .response.upstream_status == null'
check "the call is broken off" upstream_saw peer_gone 1

status=0
ask answer "$tmp/stream.json" || status=$?
check "the stream is broken off" equals "$status" 18
check_record 2 '.complete == false and .delivered == false and
	.completion_tokens == ["Hello"]'
ask answer "$tmp/whole.json"
check_status answer 504
check_record 3 '.upstream.status == 200 and .complete == false'

# Slow is not silent.
ask answer "$tmp/stream.json"
check "a slow stream" cmp "$tmp/answer" "$wire/vllm/text.plain.sse"
