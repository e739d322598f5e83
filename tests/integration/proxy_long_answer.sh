#!/usr/bin/env bash
# Answers whose log-probabilities do not stay in memory are recorded whole, also
# when several come at once, and also in a trace that is plain JSON lines.
. "$(dirname "$0")/lib.sh"

event=$(grep -m1 '"content":" world"' "$wire/vllm/text.asked.sse")
tokens=3000
{
	for ((i = 1; i <= tokens; i++)); do
		printf '%s\n\n' "${event//97963/$i}"
	done
	printf '%s\n\n' \
		'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}' \
		'data: [DONE]'
} >"$tmp/long.sse"

entry=$(jq -c '.choices[0].logprobs.content[0]' <<<"${event#data: }")
whole()
{
	jq -es --argjson entry "$entry" --argjson n "$tokens" --argjson m "$2" '
		length == $m and all(.[]; .complete
		and (.logprobs | length == $n and all(.[]; . == $entry))
		and .completion_token_ids == [range(1; $n + 1)]
		and (.per_token_logps | length == $n)
		and .token_status == "unconfirmed")' "$1" >/dev/null
}

start_upstream --stream "$tmp/long.sse" --body "$wire/vllm/text.asked.json"
start_proxy
for i in {1..6}; do
	ask "answer.$i" "$tmp/stream.json" &
	asking+=($!)
done
wait "${asking[@]}"
stop_proxy
zstd -qdc "$TRACE" >"$tmp/lines"
check "six records are whole" whole "$tmp/lines" 6
for i in {2..6}; do
	check "all agents got the same" cmp "$tmp/answer.1" "$tmp/answer.$i"
done

TRACE=$tmp/plain.jsonl
start_proxy
ask answer "$tmp/stream.json"
stop_proxy
check "a plain record is whole" whole "$TRACE" 1
