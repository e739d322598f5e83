#!/usr/bin/env bash
# HTTP/1.0 with keep-alive gets whole answers; HEAD gets no body.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}"
start_proxy --dialect vllm
ask stream "$tmp/stream.json" --http1.0 -H 'Connection: keep-alive'
check "a stream" cmp "$tmp/stream" "$wire/vllm/text.plain.sse"
ask whole "$tmp/whole.json" --http1.0 -H 'Connection: keep-alive'
check "a whole answer" cmp "$tmp/whole" "$wire/vllm/text.plain.json"

exec 9<>"/dev/tcp/127.0.0.1/${URL##*:}"
printf 'HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n' >&9
printf 'GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' >&9
timeout 10 cat <&9 | tr -d '\r' >"$tmp/two"
exec 9>&-
check "two heads, one body" equals "$(grep -c '^HTTP/1.1 200' "$tmp/two") $(
	grep -c '"status"' "$tmp/two")" '2 1'
