#!/usr/bin/env bash
# Many large requests at once: what does not fit gets 503, the others go on.
. "$(dirname "$0")/lib.sh"

trap '' PIPE # writing to what was closed
start_upstream "${answers[@]}" --first-delay 1000
start_proxy
head -c 60000000 /dev/zero >"$tmp/huge"
connections=()
for _ in {1..8}; do
	exec {connection}<>"/dev/tcp/127.0.0.1/${URL##*:}"
	connections+=("$connection")
	printf 'POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n' \
		>&"$connection"
	printf 'Content-Length: 60000001\r\n\r\n' >&"$connection"
	cat "$tmp/huge" >&"$connection"
done
ask answer "$tmp/huge" || true
check_status answer 503
check_error "$tmp/answer"
exec {connection}>&-
wait_until 5 "room for the next call" eval \
	'ask answer "$tmp/stream.json" && equals "$(status_of answer)" 200'
for connection in "${connections[@]:0:7}"; do
	exec {connection}>&-
done
