#!/usr/bin/env bash
# SIGTERM while an upstream hangs: after 5 s the call is cut and recorded; a
# second signal does not wait for that.
. "$(dirname "$0")/lib.sh"

# terminate SIGNALS: how long it takes, in ms, in $took
terminate()
{
	local start agent

	start_upstream "${answers[@]}" --chunk 1000 --delay 60000
	start_proxy
	ask answer "$tmp/stream.json" 2>/dev/null &
	agent=$!
	wait_until 5 "the answer's beginning" test -s "$tmp/answer"
	start=${EPOCHREALTIME/./}
	for ((i = 0; i < $1; i++)); do
		kill -TERM "$PROXY_PID"
		sleep 0.1
	done
	end_of "$PROXY_PID" 7
	took=$(((${EPOCHREALTIME/./} - start) / 1000))
	check "exit status" equals "$status" 0
	status=0
	wait "$agent" || status=$?
	check "the answer was cut" equals "$status" 18
	rm "$tmp/answer"
}

terminate 1
check "it took 5 s, not $took ms" test "$took" -ge 4500
check_record 1 '.complete == false and .delivered == false and
	.completion_tokens == ["Hello"] and (.abort_reason | test("stopped"))'
terminate 2
check "it took $took ms" test "$took" -lt 2000
check_record 2 '.turn == 2 and .complete == false'
