#!/usr/bin/env bash
# The trace can be read whole by any zstd reader while calls are recorded, and
# after the proxy was killed.
. "$(dirname "$0")/lib.sh"

calls=400
start_upstream "${answers[@]}" --chunk 700 --delay 1
start_proxy
for ((i = 0; i < calls; i++)); do
	printf '%s\n' next "url = \"$URL/v1/chat/completions\"" silent \
		"data-binary = \"@$tmp/stream.json\"" "output = \"/dev/null\""
done | sed 1d >"$tmp/curl"

readable()
{
	trace >"$tmp/read" 2>"$tmp/zstd.err" && jq -e . "$tmp/read" >/dev/null
}

curl --max-time 60 -K "$tmp/curl" &
agent=$!
reads=0
until has_ended "$agent"; do
	# A read that races a write sees half of it: it is made again.
	wait_until 5 "the trace to be readable" readable
	reads=$((reads + 1))
done
wait "$agent"
check "it was read meanwhile" test "$reads" -gt 5
check_records "$calls"

curl --max-time 60 -K "$tmp/curl" &
agent=$!
wait_until 10 "more records" eval '(($(records 2>/dev/null) > calls + 20))'
kill -KILL "$PROXY_PID"
reap "$PROXY_PID"
wait "$agent" || true
check "readable after the kill" readable
jq -r .turn "$tmp/read" >"$tmp/turns"
check "nothing is missing" cmp "$tmp/turns" <(seq "$(wc -l <"$tmp/turns")")
