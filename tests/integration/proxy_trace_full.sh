#!/usr/bin/env bash
# A full disk (here: a limit on file sizes) holds up no agent and harms no
# record; what could not be written is, once there is room, or the exit status
# tells.
. "$(dirname "$0")/lib.sh"

# A body that does not compress, of about 3 KB.
random_request()
{
	request "$with_usage,\"x\":\"$(head -c 2000 /dev/urandom |
		base64 -w 0)\"" >"$tmp/random.json"
}

# calls N
calls()
{
	local i

	for ((i = 0; i < $1; i++)); do
		random_request
		ask answer "$tmp/random.json"
		check "the answer" cmp "$tmp/answer" \
			"$wire/vllm/text.plain.sse"
	done
}

printf '#!/bin/bash\nulimit -S -f 16\nexec %s "$@"\n' \
	"$OCTAP_PROXY" >"$tmp/limited"
chmod +x "$tmp/limited"
OCTAP_PROXY=$tmp/limited

start_upstream "${answers[@]}"
start_proxy --on-trace-error continue
calls 10
check "the log tells" has_line "$PROXY_LOG" 'is not in the trace'
kept=$(records)
check "some of $kept records are there" test "$kept" -ge 2 -a "$kept" -lt 10
health >"$tmp/health"
check_json "$tmp/health" ".trace_errors == 10 - $kept and .delivered == 10"

prlimit --pid "$PROXY_PID" --fsize=unlimited
calls 1
check "turns" equals "$(trace | jq .turn | paste -sd ' ')" "$(seq -s ' ' 11)"
check "frames" equals "$(zstd -lv "$TRACE" 2>&1 |
	sed -n 's/.*Zstandard Frames: *//p')" 1
stop_proxy

TRACE=$tmp/second.jsonl.zst
start_proxy --on-trace-error continue
calls 8
kept=$(records)
kill -TERM "$PROXY_PID"
end_of "$PROXY_PID" 20
check "exit status" equals "$status" 1
check "the log tells" has_line "$PROXY_LOG" 'octap-proxy: write'
check "the records stay" equals "$(records)" "$kept"
