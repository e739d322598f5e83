#!/usr/bin/env bash
# When a record cannot be written, no more calls are made.
. "$(dirname "$0")/lib.sh"

printf '#!/bin/bash\nulimit -S -f 1\nexec %s "$@"\n' \
	"$OCTAP_PROXY" >"$tmp/limited"
chmod +x "$tmp/limited"
OCTAP_PROXY=$tmp/limited
start_upstream "${answers[@]}"
start_proxy --dialect vllm
request "$with_usage,\"x\":\"$(head -c 3000 /dev/urandom | base64 -w 0)\"" \
	>"$tmp/random.json"
ask first "$tmp/random.json"
check "the first is answered" cmp "$tmp/first" "$wire/vllm/text.plain.sse"
check_json <(health) '.trace_errors == 1'
ask second "$tmp/random.json"
check_status second 403
check_error "$tmp/second"
refute "asked" upstream_saw request 2
prlimit --pid "$PROXY_PID" --fsize=unlimited
stop_proxy
check_records 1
