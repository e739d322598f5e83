#!/usr/bin/env bash
# While the upstream is silent in the middle of a stream, comments show the
# agent that we live: after 10 s, between events, and never before the head.
. "$(dirname "$0")/lib.sh"

answer=$wire/vllm/text.asked.sse
first=$(($(grep -abo $'^data' "$answer" | sed -n 3p | cut -d: -f1) + 20))
printf '{"error":{"message":"No."}}' >"$tmp/no"
start_upstream --stream "$answer" --script <(
	jq -nc --arg first "$first" --arg no "$tmp/no" \
		'{chunk: $first, delay: 12500},
		{"first-delay": 12500, status: 404, body: $no}')
start_proxy --dialect vllm
ask quiet "$tmp/stream.json" --max-time 50 &
agent=$!
wait_until 5 "the first call" upstream_saw request 1
ask late "$tmp/stream.json" --max-time 50
check_status late 404
check "the refusal" cmp "$tmp/late" "$tmp/no"
wait "$agent"
check "a comment came" test "$(grep -c '^: ' "$tmp/quiet")" -ge 1
check "and nothing else" cmp <(awk '/^: /{getline; next} 1' "$tmp/quiet") \
	"$wire/vllm/text.plain.sse"
check_record 2 '.complete and .token_status == "exact"'
