#!/usr/bin/env bash
# A trace without .zst is plain JSON lines, and goes on after a restart.
. "$(dirname "$0")/lib.sh"

TRACE=$tmp/trace.jsonl
start_upstream "${answers[@]}"
start_proxy
ask answer "$tmp/stream.json"
check "a line for a turn" equals "$(wc -l <"$TRACE")" 1
ask answer "$tmp/whole.json"
cp "$TRACE" "$tmp/before"
kill -KILL "$PROXY_PID"
reap "$PROXY_PID"

# A line that a crash cut is no record.
printf '{"schema":"octap.turn/1","turn":3' >>"$TRACE"
start_proxy
check "the records stay" cmp "$tmp/before" "$TRACE"
ask answer "$tmp/stream.json"
check "turns" equals "$(jq -c .turn "$TRACE" | paste -sd ' ')" '1 2 3'
