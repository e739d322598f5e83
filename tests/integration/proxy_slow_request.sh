#!/usr/bin/env bash
# Who is slow to send a request, or sends none, is closed; who waits for a slow
# model is not.
. "$(dirname "$0")/lib.sh"

trap '' PIPE # writing to what was closed
start_upstream "${answers[@]}" --first-delay 2500 --chunk 1000 --delay 2500
start_proxy --client-timeout 1
ask patient "$tmp/stream.json" &
agent=$!

# closes "what" PAUSE TEXT...: the texts, a pause between them, until closed
closes()
{
	local what=$1 pause=$2 connection start=${EPOCHREALTIME/./} reader took

	shift 2
	exec {connection}<>"/dev/tcp/127.0.0.1/${URL##*:}"
	cat <&"$connection" >"$tmp/answer.head" 2>/dev/null &
	reader=$!
	for text in "$@"; do
		! has_ended "$reader" || break
		{ printf '%b' "$text" >&"$connection"; } 2>/dev/null || break
		sleep "$pause"
	done
	wait_until 3 "$what: closed" has_ended "$reader"
	wait "$reader" || true
	took=$(((${EPOCHREALTIME/./} - start) / 1000))
	exec {connection}>&-
	check "$what: closed after $took ms" test "$took" -ge 950
}

line='POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n'
mapfile -t bytes < <(printf 'X%.0s\n' {1..40})
closes 'nothing is sent' 0
check "no answer to that" test ! -s "$tmp/answer.head"
closes 'a slow request line' 0.1 P O S T ' ' / "${bytes[@]}"
check_status answer 408
closes 'a slow head' 0.1 "$line" "${bytes[@]}"
check_status answer 408
closes 'a slow body' 0.1 "${line}Content-Length: 1000\r\n\r\n" "${bytes[@]}"
check_status answer 408
closes 'slow chunks' 0.1 "${line}Transfer-Encoding: chunked\r\n\r\n" \
	"${bytes[@]/X/1\\r\\nx\\r\\n}"
check_status answer 408
closes 'a slow trailer' 0.1 "${line}Transfer-Encoding: chunked\r\n\r\n0\r\n" \
	"${bytes[@]}"
check_status answer 408
closes 'idle after an answer' 0 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n'
check_status answer 200
check "that only" equals "$(grep -c '^HTTP/' "$tmp/answer.head")" 1
closes 'slow after an answer' 0.1 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n' \
	P O S T "${bytes[@]}"
check "its status" grep -q 'HTTP/1.1 408' "$tmp/answer.head"

check "the agent that waits" wait "$agent"
check "all of its answer" cmp "$tmp/patient" "$wire/vllm/text.plain.sse"
check_records 1
