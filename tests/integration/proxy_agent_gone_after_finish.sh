#!/usr/bin/env bash
# An agent that hangs up after the finish_reason may have acted on the answer:
# it is complete, but not delivered.  If it is the upstream that then falls
# silent, the agent gets a clean end, so that it does not ask for the same again.
. "$(dirname "$0")/lib.sh"

start_upstream --stream "$wire/vllm/tools.asked.sse" --fault hang-after-finish
start_proxy
has_finish='.complete == true and .delivered == false and
	.side_effects == "possible"'
status=0
ask answer "$tmp/stream.json" --max-time 0.5 2>/dev/null || status=$?
check "the agent gave up" equals "$status" 28
check "it has the finish_reason" has_line "$tmp/answer" \
	'"finish_reason":"tool_calls"'
wait_until 1 "the call's end upstream" upstream_saw peer_gone 1
wait_until 1 "its record" has_records 1
check_record 1 "$has_finish"' and .finish_reason == "tool_calls" and
	.token_status == "unconfirmed"'

start_proxy --trace "$tmp/other.jsonl" --request-timeout 1
check "the stream ends well" ask answer "$tmp/stream.json"
check "it has the finish_reason" has_line "$tmp/answer" \
	'"finish_reason":"tool_calls"'
check_json "$tmp/other.jsonl" '.complete == true and .delivered == true and
	.side_effects == null and .usage == null'
