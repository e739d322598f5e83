#!/usr/bin/env bash
# Whatever server a request's target names, it goes to our upstream or nowhere.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}" --save-requests "$tmp"
start_proxy
body=$(<"$tmp/stream.json")
rest="Host: elsewhere.invalid\r\nConnection: close\r\n"
rest+="Content-Length: ${#body}\r\n\r\n$body"

number=0
for server in '' http://elsewhere.invalid http://elsewhere.invalid:65535 \
	https://elsewhere.invalid http://127.0.0.1:1; do
	number=$((number + 1))
	check "closed" talk answer \
		"POST $server/v1/chat/completions?a=b HTTP/1.1\r\n$rest"
	check_status answer 200
	check "to our upstream" upstream_saw request "$number"
	check "the path alone" grep -qxF \
		$'POST /v1/chat/completions?a=b HTTP/1.1\r' "$tmp/$number.head"
	refute "the server's name" grep -q elsewhere "$tmp/$number.head"
done

for target in ftp://a/v1/x file:///etc/passwd v1/x '*' a:80 javascript:1 '?x' \
	'#x' 'http:/v1/x' $'/v1/\x80' http://user:word@elsewhere.invalid/v1/x \
	http:///v1/x http://a:65536/v1/x http://a:-1/v1/x 'http://[::1/v1/x' \
	'//[/v1/x'; do
	check "closed" talk answer "POST $target HTTP/1.1\r\n$rest"
	check_status answer 400
	check_error "$tmp/answer"
done
for target in /v1/../x /../x /v1/%2e%2e/x /v1/%2E./x '/v1/\..\x'; do
	check "closed" talk answer "POST ${target//\\/\\\\} HTTP/1.1\r\n$rest"
	check_status answer 404
done
check "closed" talk answer "CONNECT elsewhere.invalid:80 HTTP/1.1\r\n$rest"
check_status answer 400

# A server in the target closes no connection.
get="GET http://elsewhere.invalid/healthz HTTP/1.1\r\nHost: a\r\n"
check "closed" talk answer "$get\r\n${get}Connection: close\r\n\r\n"
check "two answers" equals \
	"$(grep -o 'HTTP/1.1 200' "$tmp/answer.head" | wc -l)" 2
check "no other request" equals "$(grep -c '"request"' "$UPSTREAM_LOG")" 5
check_records 5
