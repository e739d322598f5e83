#!/usr/bin/env bash
# An agent that goes on sending while it is being answered is held up instead of
# filling the memory.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}" --chunk 1000 --delay 1000
start_proxy
{
	printf 'POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n'
	printf 'Content-Length: %s\r\n\r\n' "$(stat -c %s "$tmp/stream.json")"
	cat "$tmp/stream.json"
} >"$tmp/call"

# flood FILE: a call, then that file.
flood()
{
	local connection

	exec {connection}<>"/dev/tcp/127.0.0.1/${URL##*:}"
	cat "$tmp/call" >&"$connection"
	timeout 2 cat <&"$connection" >"$tmp/answer" &
	{ timeout 2 cat "$1" >&"$connection"; } 2>/dev/null || true
	wait "$!" || true
	exec {connection}>&-
}

head -c 100000000 /dev/zero >"$tmp/noise"
flood "$tmp/noise"
check "the answer went on" grep -q '^data: ' "$tmp/answer"
printf 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n%.0s' {1..100000} >"$tmp/calls"
for _ in {1..25}; do
	cat "$tmp/calls"
done >"$tmp/noise"
flood "$tmp/noise"
check "the answer went on" grep -q '^data: ' "$tmp/answer"
check_memory 16384
ask answer "$tmp/stream.json"
check "the next call" cmp "$tmp/answer" "$wire/vllm/text.plain.sse"
