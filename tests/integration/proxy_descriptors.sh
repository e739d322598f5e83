#!/usr/bin/env bash
# Out of descriptors, the proxy neither ends nor spins, and serves again later.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}"
hard=$(ulimit -Hn)
printf '#!/bin/sh\nulimit -n 40\nexec %s "$@"\n' "$OCTAP_PROXY" \
	>"$tmp/short_of_descriptors"
chmod 755 "$tmp/short_of_descriptors"
OCTAP_PROXY=$tmp/short_of_descriptors start_proxy
check "this test has more" test "$hard" -gt 200

ticks()
{
	awk '{ print $14 + $15 }' "/proc/$PROXY_PID/stat"
}

connections=()
for _ in {1..100}; do
	exec {connection}<>"/dev/tcp/127.0.0.1/${URL##*:}"
	connections+=("$connection")
done
wait_until 5 "a word about it" has_line "$PROXY_LOG" 'no connection can be'
before=$(ticks)
sleep 1
used=$(($(ticks) - before))
check "$used ticks in a second" test "$used" -lt 20
check "one word" equals "$(wc -l <"$PROXY_LOG")" 1

for connection in "${connections[@]}"; do
	exec {connection}>&-
done
ask answer "$tmp/stream.json"
check "the next call" cmp "$tmp/answer" "$wire/vllm/text.plain.sse"
check_records 1
