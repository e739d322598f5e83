#!/usr/bin/env bash
#
# A stream is one whatever its Content-Type says, as it is to agents, and
# recorded; what is none is told to the agent in a stream, whatever it says.
. "$(dirname "$0")/lib.sh"

for type in ' text/plain' ' application/octet-stream' ' application/json' '' \
	' TEXT/Event-Stream; charset=utf-8'; do
	for chunk in 100000 3; do
		printf '{"header":"Content-Type:%s","chunk":"%s"}\n' \
			"$type" "$chunk"
	done
done >"$tmp/script"
{
	printf ': waiting\n\n'
	cat "$wire/vllm/text.asked.sse"
} >"$tmp/comment"
printf '{"header":"Content-Type: text/plain","stream":"%s"}\n' \
	"$tmp/comment" >>"$tmp/script"
for type in text/plain application/json text/html text/event-stream; do
	printf '{"header":"Content-Type: %s","stream":"%s"}\n' \
		"$type" "$wire/vllm/text.asked.json"
	printf '{"header":"Content-Type: %s","fault":"html"}\n' "$type"
done >>"$tmp/script"
start_upstream "${answers[@]}" --script "$tmp/script"
start_proxy --dialect vllm

for turn in {1..11}; do
	ask answer "$tmp/stream.json"
	check_status answer 200
	check "answer $turn" cmp <(grep -v '^: waiting' "$tmp/answer" |
		sed '1{/^$/d}') "$wire/vllm/text.plain.sse"
	check_record "$turn" '.complete and .delivered and
		.token_status == "exact" and (.chunk_ms | length == 4)'
done
for turn in {12..19}; do
	ask answer "$tmp/stream.json"
	check_status answer 200
	check "its type" grep -qi '^content-type: text/event-stream' \
		"$tmp/answer.head"
	sed -n 's/^data: \({"error".*\)/\1/p' "$tmp/answer" >"$tmp/error"
	check_error "$tmp/error"
	check_record "$turn" '.complete == false and .delivered and
		(.abort_reason | length > 0)'
done
