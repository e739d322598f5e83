#!/usr/bin/env bash
# An answer of several choices that breaks when only some have ended is not
# complete, whichever ended first.
. "$(dirname "$0")/lib.sh"

# Here choice 1 ends before choice 0 begins.
stream=$wire/llamacpp/two_usage_ours.asked.sse
begin=$(grep -abo '"index":0' "$stream" | head -n 1 | cut -d: -f1)
middle=$(grep -abo '"index":0' "$stream" | sed -n 2p | cut -d: -f1)
for cut in $((begin - 30)) "$begin" "$middle"; do
	printf '{"fault":"cut","fault-after":%d}\n' "$cut"
done >"$tmp/script"

start_upstream --stream "$stream" --script "$tmp/script"
start_proxy
for turn in 1 2 3; do
	status=0
	ask answer "$tmp/stream.json" || status=$?
	check "broken off" equals "$status" 18
	check "choice 1 has ended" has_line "$tmp/answer" \
		'"finish_reason":"length","index":1'
	check_record "$turn" '.complete == false and .finish_reason == null and
		(.abort_reason | length > 0)'
done
