#!/usr/bin/env bash
#
# What an upstream sends behind [DONE] does not reach the agent, however its
# bytes fell into packets, and harms nothing.
. "$(dirname "$0")/lib.sh"

{
	cat "$wire/vllm/text.asked.sse"
	printf 'data: {"choices":[{"index":0,"delta":{"content":"more"}}]}\n\n'
	printf ': bye\n\ndata: [DONE]\n\n\n\ndata: {"error":{"message":"late"}'
} >"$tmp/more"
sed 's/$/\r/' "$wire/vllm/text.asked.sse" >"$tmp/crlf"
sed 's/$/\r/' "$wire/vllm/text.plain.sse" >"$tmp/crlf.plain"
end=$(stat -c %s "$wire/vllm/text.asked.sse")
crlf=$(stat -c %s "$tmp/crlf")
for chunk in 1000000 "$end" $((end - 1)) 7 random:3; do
	printf '{"stream":"%s","chunk":"%s","delay":1}\n' "$tmp/more" "$chunk"
done >"$tmp/script"
for chunk in 1000000 $((crlf - 1)) $((crlf - 2)) 11; do
	printf '{"stream":"%s","chunk":"%s","delay":1}\n' "$tmp/crlf" "$chunk"
done >>"$tmp/script"
start_upstream "${answers[@]}" --script "$tmp/script"
start_proxy --dialect vllm
for turn in {1..9}; do
	expected=$wire/vllm/text.plain.sse
	((turn <= 5)) || expected=$tmp/crlf.plain
	ask answer "$tmp/stream.json"
	check "answer $turn" cmp "$tmp/answer" "$expected"
	check_record "$turn" '.complete and .delivered and
		.token_status == "exact" and (.completion_tokens | length == 4)
		and .upstream.attempts == 1'
done
