#!/usr/bin/env bash
#
# What is no HTTP answer, or one that nobody asked for, is none: 502 with an
# error object, recorded, and the proxy lives.
. "$(dirname "$0")/lib.sh"

ok='HTTP/1.1 200 OK\r\n'
event='Content-Type: text/event-stream\r\n'
number=0
for head in 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n' \
	'HTTP/1.1 101 Switching Protocols\r\n\r\n' 'SSH-2.0-x\r\n' '\r\n\r\n' \
	'HTTP/7.3 200 OK\r\n\r\n' 'HTTP/1.1 000 X\r\n\r\n' \
	'HTTP/1.1 099 X\r\n\r\n' 'HTTP/1.1 20 X\r\n\r\n' \
	'HTTP/1.1\r\n\r\n' 'HTTP/1.1 X 200\r\n\r\n' 'HTTP/1.1 2000 X\r\n\r\n' \
	"${ok}X: $(printf '%070000d' 0)\r\n\r\n" \
	"$ok$(printf 'A: b\\r\\n%.0s' {1..20000})\r\n" \
	"${ok}${event}Content-Length: x\r\n\r\n" \
	'HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n'; do
	number=$((number + 1))
	{
		printf '%b' "$head"
		cat "$wire/vllm/text.asked.sse"
	} >"$tmp/raw.$number"
	printf '{"fault":"raw","stream":"%s","body":"%s"}\n' \
		"$tmp/raw.$number"{,,,} >>"$tmp/script"
done
printf '{}\n' >>"$tmp/script"
start_upstream "${answers[@]}" --script "$tmp/script"
start_proxy --dialect vllm
for ((turn = 1; turn <= 2 * number; turn++)); do
	body=$tmp/stream.json
	((turn % 2)) || body=$tmp/whole.json
	ask answer "$body"
	check_status answer 502
	check_error "$tmp/answer"
	check_record "$turn" '.complete == false and .upstream.status == null and
		.upstream.attempts == 1 and (.abort_reason | length > 0)'
done
ask answer "$tmp/stream.json"
check "the next call" cmp "$tmp/answer" "$wire/vllm/text.plain.sse"

# A head that ends oddly ends all the same.
for end in '\r\n\r' '\r\nX: a\r\n\rb' '\r\n \r\nX: a\r\n' '\n'; do
	{
		printf '%b\n' "HTTP/1.1 200 OK\r\nContent-Type: a/b$end"
		cat "$wire/vllm/text.asked.sse"
	} >"$tmp/odd"
	printf '{"fault":"raw","stream":"%s"}\n' "$tmp/odd" >"$tmp/script"
	start_upstream --script "$tmp/script"
	start_proxy --dialect vllm --trace "$tmp/trace.$proxies"
	ask answer "$tmp/stream.json"
	check "answer" cmp "$tmp/answer" "$wire/vllm/text.plain.sse"
	stop_proxy
done
