#!/usr/bin/env bash
# When the tokens are used up the agent gets a final answer that ends it.
. "$(dirname "$0")/lib.sh"

total=$(sed -n 's/^data: {/{/p' "$wire/vllm/text.asked.sse" |
	jq 'select(.usage).usage.total_tokens' | tail -n 1)
start_upstream "${answers[@]}"
start_proxy --dialect vllm --max-total-tokens $((total + 1))
for i in 1 2 3; do
	ask "answer.$i" "$tmp/stream.json"
	check_status "answer.$i" 200
done
refute "a third call" upstream_saw request 3
check "marked" grep -qi '^x-octap-synthetic: ' "$tmp/answer.3.head"
check "its end" grep -q '"finish_reason":"stop"' "$tmp/answer.3"
check_records 2
