#!/usr/bin/env bash
#
# Answers with errors made in them anywhere, heads included: the proxy lives, each
# call is answered, and each has a record that says whether it is whole.
. "$(dirname "$0")/lib.sh"

calls=1500
mkfifo "$tmp/port"
listener mutating tests/fake/mutating_upstream.py 1 "$calls" "$tmp/port" \
	"$wire"/*/*.asked.{sse,json}
mutating=$pid
UPSTREAM=http://127.0.0.1:$port
start_proxy --dialect vllm --request-timeout 5
printf '%s\n' "${URL##*:}" >"$tmp/port"
end_of "$mutating" 90
check "the calls were made" equals "$status" 0
check_json <(tail -n 1 "$tmp/mutating.out") ".answered == $calls"
check_records "$calls"
trace >"$tmp/records"
check "complete or with a reason" equals \
	"$(jq 'select(.complete != (.abort_reason == null)).turn' \
		"$tmp/records")" ''
check "some were whole" test "$(jq 'select(.complete)' "$tmp/records" |
	wc -l)" -gt 100
check_memory 16384
