#!/usr/bin/env bash
# A refusal that is final reaches the agent in words by which it does not ask
# again; the upstream's own are in the record.
. "$(dirname "$0")/lib.sh"

printf '{"error":{"message":"%s","type":"x","param":null,"code":null}}' \
	'At least 15000 of these: try again later.' >"$tmp/digits.json"
printf '{"object":"error","message":"%s","code":400}' \
	"This model's maximum context length is 4096 tokens; you asked for 5002." \
	>"$tmp/context.json"
printf '{"error":{"message":"No such model: x."}}' >"$tmp/plain.json"

# refused STATUS FILE PROXY-OPTION...: the answer is in $tmp/answer
refused()
{
	local status=$1 file=$2

	shift 2
	start_upstream --status "$status" --body "$file" --stream "$file"
	start_proxy --dialect vllm "$@"
	ask answer "$tmp/stream.json"
	check_status answer "$status"
	stop_proxy
	kill_upstream
}

refused 400 "$tmp/digits.json"
check_error "$tmp/answer"
check_record 1 '.response.upstream_status == 400 and
	(.response.upstream_error.error.message | contains("15000"))'
refused 400 "$tmp/context.json"
check_error "$tmp/answer"
check_json "$tmp/answer" '.error.code == "context_length_exceeded"'
check_record 2 '.response.upstream_error.message | contains("5002")'

# What is final stays so if its text breaks off, or does not end.
head -c 100000 /dev/zero | tr '\0' x >"$tmp/page"
start_upstream --script <(
	jq -nc --arg body "$tmp/digits.json" --arg page "$tmp/page" '
		{status: 400, body: $body, fault: "cut", "fault-after": 30},
		{status: 400, body: $page, endless: true},
		{status: 404, body: $page, endless: true}')
start_proxy --dialect vllm --trace "$tmp/cut.jsonl"
for status in 400 400 404; do
	ask answer "$tmp/stream.json"
	check_status answer "$status"
	check_error "$tmp/answer"
done
check "they are recorded" equals "$(jq -c '[.complete, .delivered,
	.upstream.status, .abort_reason]' "$tmp/cut.jsonl" | tr '\n' ' ')" \
	"$(for status in 400 400 404; do
		printf '[false,true,%s,"the upstream answered %s"] ' \
			"$status" "$status"
	done)"
stop_proxy
kill_upstream

# What does no harm passes, and so does what is not final.
refused 404 "$tmp/plain.json"
check "harmless" cmp "$tmp/answer" "$tmp/plain.json"
for status in 429 500; do
	refused "$status" "$tmp/digits.json"
	check "$status" cmp "$tmp/answer" "$tmp/digits.json"
done
refused 400 "$tmp/digits.json" --no-error-shield
check "shield off" cmp "$tmp/answer" "$tmp/digits.json"
check_records 6
