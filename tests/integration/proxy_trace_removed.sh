#!/usr/bin/env bash
#
# A trace that somebody removes comes back with all its records, at the next one
# or at the end; where it cannot, no call is lost in silence.
. "$(dirname "$0")/lib.sh"

turns()
{
	zstd -qdcf "$TRACE" | jq .turn | paste -sd ' '
}

# stops_with STATUS ERRORS: the proxy, and what its last line counts
stops_with()
{
	kill -TERM "$PROXY_PID"
	end_of "$PROXY_PID" 20
	check "exit status" equals "$status" "$1"
	check_json <(tail -n 1 "$PROXY_OUT") \
		".event == \"stopped\" and .trace_errors == $2"
}

start_upstream "${answers[@]}"
for TRACE in "$tmp/one.jsonl.zst" "$tmp/one.jsonl"; do
	start_proxy
	ask answer "$tmp/stream.json"
	rm "$TRACE"
	ask answer "$tmp/stream.json"
	check "both records" equals "$(turns)" '1 2'
	check_json <(health) '.trace_errors == 0'
	check_json <(ls -l "$TRACE" | jq -R .) 'startswith("-rw-------")'
	ask answer "$tmp/stream.json"
	rm "$TRACE"
	stops_with 0 0
	check "all records" equals "$(turns)" '1 2 3'
done

# Another file has its name.
start_proxy --on-trace-error continue
ask answer "$tmp/stream.json"
rm "$TRACE"
printf 'notes\n' >"$TRACE"
ask answer "$tmp/stream.json"
check "the answer" cmp "$tmp/answer" "$wire/vllm/text.plain.sse"
check_json <(health) '.trace_errors == 1'
check "it is left alone" equals "$(<"$TRACE")" notes
rm "$TRACE"
ask answer "$tmp/stream.json"
check "all records" equals "$(turns)" '1 2 3 4 5 6'
stops_with 0 1

# Its folder is gone.
mkdir "$tmp/folder"
TRACE=$tmp/folder/trace.jsonl.zst
start_proxy
ask answer "$tmp/stream.json"
rm -r "$tmp/folder"
ask answer "$tmp/stream.json"
check "the answer" cmp "$tmp/answer" "$wire/vllm/text.plain.sse"
check_json <(health) '.trace_errors == 1'
check "it says which" has_line "$PROXY_LOG" "$TRACE was removed"
ask answer "$tmp/stream.json"
check_status answer 403
check_error "$tmp/answer"
stops_with 1 1
