#!/usr/bin/env bash
# A proxy on an old trace goes on with its numbers, in one zstd frame; also
# when the last proxy was killed and the file's end is torn.
. "$(dirname "$0")/lib.sh"

turns()
{
	trace | jq -c .turn | paste -sd ' '
}

check_frames()
{
	check "one frame" equals "$(zstd -lv "$TRACE" 2>&1 |
		sed -n 's/.*Zstandard Frames: *//p')" 1
}

start_upstream "${answers[@]}"
start_proxy
check "the empty trace is readable" equals "$(records)" 0
ask answer "$tmp/stream.json"
ask answer "$tmp/whole.json"
trace >"$tmp/before"
stop_proxy
check "the end changes nothing" cmp "$tmp/before" <(trace)

start_proxy
check "the start changes nothing" cmp "$tmp/before" <(trace)
ask answer "$tmp/stream.json"
check "turns" equals "$(turns)" '1 2 3'
check_frames
kill -KILL "$PROXY_PID"
reap "$PROXY_PID"

start_proxy
request '"x":['"$(seq -s , 99999)"']' >"$tmp/long.json"
ask answer "$tmp/long.json"
check "turns" equals "$(turns)" '1 2 3 4'
check_frames
kill -KILL "$PROXY_PID"
reap "$PROXY_PID"

# Torn as by a crash: without its seal, then within the last record.  The last
# record here is far longer than a block.
truncate -s -3 "$TRACE"
start_proxy
check "turns" equals "$(turns)" '1 2 3 4'
check_frames
stop_proxy
truncate -s -20 "$TRACE"
start_proxy
ask answer "$tmp/stream.json"
check "turns" equals "$(turns)" '1 2 3 4'
check_frames
check "nothing is left beside it" equals "$(ls "$TRACE"*)" "$TRACE"
check_json <(ls -l "$TRACE" | jq -R .) 'startswith("-rw-------")'
