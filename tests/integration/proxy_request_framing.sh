#!/usr/bin/env bash
# A request whose end can be read in more than one way is refused, the
# connection closed, and nothing of it reaches the upstream.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}"
start_proxy
line='POST /v1/chat/completions HTTP/1.1\r\n'
host='Host: a\r\n'
chunked='Transfer-Encoding: chunked\r\n'
smuggled='POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n'
smuggled+='Content-Length: 13\r\n\r\n{"stolen":1}\r'

# refuses "what" TEXT [STATUS]
refuses()
{
	check "$1: closed" talk answer "$2$smuggled"
	check "$1: one answer" equals \
		"$(grep -c '^HTTP/' "$tmp/answer.head")" 1
	check "$1: status" equals "$(status_of answer)" "${3:-400}"
	check "$1: says that it closes" grep -qi '^connection: close' \
		"$tmp/answer.head"
	check_error "$tmp/answer"
}

length='Content-Length: 3\r\n'
refuses 'two lengths' "$line$host${length}Content-Length: 5\r\n\r\nabc"
refuses 'one length twice' "$line$host$length$length\r\nabc"
refuses 'a list of lengths' "$line${host}Content-Length: 3, 3\r\n\r\nabc"
for value in +3 -3 0x3 3.0 '3 3' '' 3x 99999999999999999999 ' 3\v'; do
	refuses "length '$value'" \
		"$line${host}Content-Length: $value\r\n\r\nabc"
done
refuses 'length and chunks' "$line$host$length$chunked\r\n0\r\n\r\n"
refuses 'chunks and length' "$line$host$chunked$length\r\n0\r\n\r\n"
for value in 'gzip, chunked' 'chunked, gzip' 'chunked, chunked' identity gzip \
	'' 'chunked;q=1' '"chunked"' 'x chunked' '\vchunked'; do
	refuses "encoding '$value'" \
		"$line${host}Transfer-Encoding: $value\r\n\r\n0\r\n\r\n"
done
refuses 'chunked twice' "$line$host$chunked$chunked\r\n0\r\n\r\n"
refuses 'chunked in HTTP/1.0' \
	"POST / HTTP/1.0\r\n$host$chunked\r\n0\r\n\r\n"
for value in 0x3 +3 -3 ' 3' '3 ' '3;a=b' '' g 00000000000000003; do
	refuses "chunk length '$value'" \
		"$line$host$chunked\r\n$value\r\nabc\r\n0\r\n\r\n"
done
refuses 'chunk without end' "$line$host$chunked\r\n3\r\nabcd\r\n0\r\n\r\n"
refuses 'chunk with bare ends' "$line$host$chunked\r\n3\nabc\n0\n\n"
refuses 'folded trailer' "$line$host$chunked\r\n0\r\nA: b\r\n c\r\n\r\n"
refuses 'folded header' "$line${host}A: b\r\n c\r\n$length\r\nabc"
refuses 'folded length' "$line${host}Content-Length:\r\n 3\r\n\r\nabc"
refuses 'first header folded' "$line $host$length\r\nabc"
refuses 'space before colon' "$line${host}Content-Length : 3\r\n\r\nabc"
refuses 'no colon' "$line${host}Content-Length 3\r\n\r\nabc"
refuses 'no name' "$line$host: 3\r\n\r\nabc"
refuses 'bare line feeds' "POST / HTTP/1.1\nHost: a\nContent-Length: 3\n\nabc"
refuses 'bare carriage return' "$line${host}A: b\rContent-Length: 3\r\n\r\nabc"
refuses 'NUL' "$line${host}A: \0\r\n$length\r\nabc"
refuses 'two hosts' "$line$host$host$length\r\nabc"
refuses 'no host' "$line$length\r\nabc"
refuses 'HEAD with a body' "HEAD / HTTP/1.1\r\n$host$length\r\nabc"
refuses 'TRACE with a body' "TRACE / HTTP/1.1\r\n$host$length\r\nabc"
refuses 'HTTP/2' "POST / HTTP/2.0\r\n$host$length\r\nabc"
refuses 'no version' "POST /\r\n$host$length\r\nabc"
refuses 'four words' "POST / / HTTP/1.1\r\n$host$length\r\nabc"
refuses 'two spaces' "POST  / HTTP/1.1\r\n$host$length\r\nabc"
refuses 'tab' "POST\t/ HTTP/1.1\r\n$host$length\r\nabc"
refuses 'empty line first' "\r\n$line$host$length\r\nabc"
refuses 'no HTTP' '\x16\x03\x01\x02'

# As they are read strictly, these have one meaning.
body=$(<"$tmp/stream.json")
size=$(printf '%x' ${#body})
calls=(
	"$line${host}content-length: ${#body}  \r\n\r\n$body"
	"$line${host}Content-Length:${#body}\r\nA: b\tc\r\nEmpty:\r\n\r\n$body"
	"$line${host}transfer-encoding: Chunked\r\n\r\n$size\r\n$body\r\n0\r\n\r\n"
	"$line$host$chunked\r\n0$size\r\n$body\r\n0\r\nTrailer: x\r\n\r\n"
	"POST /v1/chat/completions HTTP/1.0\r\nContent-Length: ${#body}\r\n\r\n$body"
)
refute "anything reached the upstream" has_line "$UPSTREAM_LOG" '"request"'
check "no record" test ! -s <(trace)
for i in "${!calls[@]}"; do
	call=${calls[$i]/\\r\\n/\\r\\nConnection: close\\r\\n}
	check "call $i: closed" talk answer "$call"
	check_status answer 200
	check "call $i: answer" grep -q '^data: \[DONE\]' "$tmp/answer"
	check_records $((i + 1))
done
