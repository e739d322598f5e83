#!/usr/bin/env bash
# An error in the stream passes unchanged, [DONE] after it included; the record
# is not complete.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}" --fault error-event --fault-after 700 \
	--plain-if-unasked "$wire/vllm/text.plain.sse"
start_proxy
ask answer "$tmp/stream.json"
check_status answer 200
{
	awk -v RS='\n\n' -v ORS='\n\n' 'NR <= 2' "$wire/vllm/text.plain.sse"
	printf '%s"engine died", "type": "InternalServerError", "param": ' \
		'data: {"error": {"message": '
	printf 'null, "code": 500}}\n\ndata: [DONE]\n\n'
} >"$tmp/expected"
check "the stream" cmp "$tmp/answer" "$tmp/expected"

# Also one that comes after the finish_reason.
start_upstream "${answers[@]}" --fault error-event --fault-after 2500
start_proxy --trace "$tmp/late.jsonl"
ask answer "$tmp/stream.json"
check "the finish_reason" has_line "$tmp/answer" '"finish_reason":"stop"'
check "the error" has_line "$tmp/answer" '"engine died"'
check_json "$tmp/late.jsonl" '.complete == false and .delivered == true and
	.finish_reason == "stop" and (.abort_reason | length > 0)'

check_record 1 '.complete == false and .delivered == true and
	.completion_tokens == ["Hello"] and .finish_reason == null and
	.response.upstream_error.message == "engine died" and
	(.abort_reason | length > 0)'
