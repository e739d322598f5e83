#!/usr/bin/env bash
# /healthz counts what happened.
. "$(dirname "$0")/lib.sh"

cat >"$tmp/script" <<-END
	{}
	{"status":500}
	{"first-delay":60000}
	{"chunk":"1000","delay":60000}
END
start_upstream "${answers[@]}" --script "$tmp/script"
start_proxy

says()
{
	health | jq -e "$1" >/dev/null
}

check "at first" says '. == {"status":"ok","version":.version,"turns":0,
	"without_logprobs":0,"dialect":.dialect,"delivered":0,"in_flight":0,"trace_errors":0,"max_turns_reached":false}'
ask answer "$tmp/stream.json"
check "after an answer" says '.turns == 1 and .delivered == 1'
ask answer "$tmp/stream.json"
check "after an error" says '.turns == 2 and .delivered == 1'
ask waiting "$tmp/stream.json" --max-time 1 2>/dev/null &
first=$!
wait_until 5 "a call under way" says '.in_flight == 1'
ask streaming "$tmp/stream.json" --max-time 1 2>/dev/null &
second=$!
wait_until 5 "two calls under way" says '.in_flight == 2 and .turns == 2'
wait "$first" "$second" || true
wait_until 2 "their ends" says '.in_flight == 0 and .turns == 4'
check "after they were broken off" says '.delivered == 1'
check_records 4

# The manual page tells of each counter.
for counter in $(health | jq -r 'keys[] | select(IN("status", "version") |
	not)'); do
	check "$counter is in the manual page" grep -qw "$counter" \
		proxy/octap-proxy.1
done
