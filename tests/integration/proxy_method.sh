#!/usr/bin/env bash
#
# What the proxy cannot do for a request is refused as everything else is: other
# methods with 501, other expectations than to continue with 417.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}"
start_proxy --dialect vllm

# refuses STATUS TEXT
refuses()
{
	check "closed" talk answer "$2"
	check_status answer "$1"
	check "one answer" equals "$(grep -c '^HTTP/' "$tmp/answer.head")" 1
	check "says that it closes" grep -qi '^connection: close' \
		"$tmp/answer.head"
	check "its type" grep -qi '^content-type: application/json' \
		"$tmp/answer.head"
	check_error "$tmp/answer"
}

for method in TRACE PROPFIND BREW post PRI; do
	refuses 501 "$method /v1/chat/completions HTTP/1.1\r\nHost: a\r\n\r\n"
done
body=$(<"$tmp/stream.json")
length="Content-Length: ${#body}\r\n"
call="POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n$length"
for value in '' x '100-continue, x' 200-ok; do
	refuses 417 "${call}Expect: $value\r\n\r\n"
	refuses 417 "${call}Expect: $value\r\n\r\n$body$call\r\n$body"
done
check_records 0

# To continue is all that may be expected; HTTP/1.0 knows no expectations.
check "closed" talk answer \
	"${call}Connection: close\r\nExpect: 100-Continue\r\n\r\n$body"
check_status answer 200
check "closed" talk answer \
	"${call/HTTP\/1.1/HTTP\/1.0}Expect: x\r\n\r\n$body"
check_status answer 200
check_records 2

# Who waits for the word to continue gets it, once.
exec 9<>"/dev/tcp/127.0.0.1/${URL##*:}"
printf '%bConnection: close\r\nExpect: 100-continue\r\n\r\n' "$call" >&9
IFS= read -r -t 5 -u 9 line
check "the word" equals "$line" $'HTTP/1.1 100 Continue\r'
printf '%s' "$body" >&9
timeout 10 cat <&9 >"$tmp/continued"
exec 9>&-
check "one head more" equals "$(grep -c '^HTTP/1.1' "$tmp/continued")" 1
check "the answer" grep -q '^data: \[DONE\]' "$tmp/continued"
check_records 3
