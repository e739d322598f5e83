#!/usr/bin/env bash
# A body beyond the limit gets 413, a head beyond it 431; neither reaches
# anybody, fills the memory, or has to be sent to its end.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}"
start_proxy
head -c 68000000 /dev/zero >"$tmp/huge"
# curl fails or not, as its last write goes; the answer is there.
ask answer "$tmp/huge" || true
check_status answer 413
check_error "$tmp/answer"
ask answer "$tmp/huge" -H 'Expect:' || true
check_status answer 413
check_memory 16384

line='POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n'
for length in 67108865 9223372036854775807 18446744073709551615; do
	check "closed" talk answer "${line}Content-Length: $length\r\n\r\n"
	check_status answer 413
done
check "closed" talk answer \
	"${line}Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"
check_status answer 413
ask answer "$tmp/huge" -H 'Transfer-Encoding: chunked' -H 'Expect:' || true
check_status answer 413

ask answer "$tmp/stream.json" -H "X-Long: $(printf '%070000d' 0)" || true
check_status answer 431
check_error "$tmp/answer"
check "an endless request line" talk answer "POST /$(printf '%070000d' 0)"
check_status answer 431
check "an endless name" talk answer "$line$(printf '%070000d' 0)"
check_status answer 431
check "endless headers" talk answer "$line$(printf 'A: b\\r\\n%.0s' {1..11000})"
check_status answer 431
check "an endless trailer" talk answer \
	"${line}Transfer-Encoding: chunked\r\n\r\n0\r\nA: $(printf '%070000d' 0)"
check_status answer 431
check_records 0
refute "the upstream was asked" has_line "$UPSTREAM_LOG" '"request"'

# As much as is allowed.
ask answer "$tmp/stream.json" -H "X-Long: $(printf '%064000d' 0)"
check "the next call" cmp "$tmp/answer" "$wire/vllm/text.plain.sse"
check_records 1
truncate -s 67108864 "$tmp/huge"
curl -sS -o "$tmp/answer" -D "$tmp/answer.head" --data-binary "@$tmp/huge" \
	"$URL/v1/embeddings"
check_status answer 200
