#!/usr/bin/env bash
# A trace that another proxy writes, or a file that is none, is left alone.
. "$(dirname "$0")/lib.sh"

# refuses FILE "what it says"
refuses()
{
	local before

	before=$(md5sum <"$1")
	status=0
	timeout 10 "$OCTAP_PROXY" --upstream-url "$UPSTREAM" --port 0 \
		--trace "$1" >"$tmp/refused.out" 2>"$tmp/refused.err" ||
		status=$?
	check "exit status" equals "$status" 1
	check "reason" has_line "$tmp/refused.err" "$2"
	check "no ready line" test ! -s "$tmp/refused.out"
	check "file unchanged" equals "$(md5sum <"$1")" "$before"
}

start_upstream "${answers[@]}"
start_proxy
ask answer "$tmp/stream.json"
refuses "$TRACE" 'in use by another proxy'
ask answer "$tmp/stream.json"
check_records 2

printf 'precious notes\n' >"$tmp/notes.jsonl"
refuses "$tmp/notes.jsonl" 'notes.jsonl'
printf '{"schema":"other/1"}\n' >"$tmp/other.jsonl"
refuses "$tmp/other.jsonl" 'other.jsonl'
printf 'precious notes\n' >"$tmp/notes.zst"
refuses "$tmp/notes.zst" 'notes.zst'
printf '{"schema":"other/1"}\n' | zstd -q >"$tmp/other.zst"
refuses "$tmp/other.zst" 'other.zst'
mkfifo "$tmp/fifo.zst"
refute "a FIFO" timeout 10 "$OCTAP_PROXY" --upstream-url "$UPSTREAM" \
	--port 0 --trace "$tmp/fifo.zst" 2>"$tmp/refused.err"

# No place for one, or none that may be written.
cannot()
{
	status=0
	timeout 10 "$@" --upstream-url "$UPSTREAM" --port 0 \
		--trace "$trace" >"$tmp/refused.out" 2>"$tmp/refused.err" ||
		status=$?
	check "exit status" equals "$status" 1
	check "the file is named" has_line "$tmp/refused.err" "open $trace"
	check "no ready line" test ! -s "$tmp/refused.out"
}

trace=$tmp/nowhere/trace.zst cannot "$OCTAP_PROXY"
mkdir "$tmp/closed"
printf '{"schema":"octap.turn/1","turn":1}\n' >"$tmp/closed/trace.jsonl"
chmod 0555 "$tmp/closed"
chmod 0444 "$tmp/closed/trace.jsonl"
chmod 0755 "$tmp"
prefix=()
if ((EUID == 0)); then
	cp "$OCTAP_PROXY" "$tmp/proxy"
	prefix=(setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/proxy")
else
	prefix=("$OCTAP_PROXY")
fi
for trace in "$tmp/closed/new.jsonl" "$tmp/closed/trace.jsonl"; do
	cannot "${prefix[@]}"
	check "why" has_line "$tmp/refused.err" 'Permission denied'
done
chmod 0755 "$tmp/closed"
