#!/usr/bin/env bash
# SIGTERM while an upstream hangs: after 5 s the call is cut and recorded; a
# second signal does not wait for that.
. "$(dirname "$0")/lib.sh"

# terminate SIGNAL...: how long it takes, in ms, in $took
terminate()
{
	local start agent signal

	start_upstream "${answers[@]}" --chunk 1000 --delay 60000
	start_proxy
	ask answer "$tmp/stream.json" 2>/dev/null &
	agent=$!
	wait_until 5 "the answer's beginning" test -s "$tmp/answer"
	start=${EPOCHREALTIME/./}
	for signal in "$@"; do
		kill "-$signal" "$PROXY_PID"
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

terminate TERM
check "it took 5 s, not $took ms" test "$took" -ge 4500
check_record 1 '.complete == false and .delivered == false and
	.completion_tokens == ["Hello"] and (.abort_reason | test("stopped"))'
turn=1
for signals in 'TERM TERM' 'INT INT' 'TERM INT' 'INT TERM'; do
	turn=$((turn + 1))
	# shellcheck disable=SC2086
	terminate $signals
	check "$signals took $took ms" test "$took" -lt 2000
	check_record "$turn" ".turn == $turn and .complete == false"
done
