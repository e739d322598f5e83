#!/usr/bin/env bash
# Ctrl-C in each state that can be held: cancelled, nothing left.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

# Whether octap is in a state can be seen in what it logs.
is_in_state()
{
	grep -qE "info octap: $1$" "$tmp/$name.stderr"
}

# cancelled_in STATE [NAME OPTION...]: the task holds it there
cancelled_in()
{
	local in=$1

	begin_rollout "${2:-$in}" --verbose "${@:3}"
	wait_until 20 "octap to be $in" is_in_state "$in"
	# Into what the state waits for.
	sleep 0.2
	kill -INT "$octap"
	end_rollout 15
	check "$name: exit code" equals "$status" 130
	check_result ".outcome == \"cancelled\" and .reward == null and
		.error == \"cancelled while $in\""
	check_result '[.timings | to_entries[].value] | all(. < 5)'
}

# A proxy that stands in for the real one and takes its time.
slow_proxy()
{
	mkdir -p "$tmp/slow"
	cp "$OCTAP" "$tmp/slow/octap"
	cat >"$tmp/slow/octap-proxy"
	chmod 755 "$tmp/slow/octap-proxy"
	programs=$tmp/slow
}

start_upstream "${answers[@]}"

task '{"setup":["setsid sleep 990 & sleep 999"]}' <<<'@call'
cancelled_in setup
check_result '.setup_results | length == 1 and .[0].exit_code == -1 and
	.[0].duration_s > 0.1'
refute "the agent ran" test -e "$out/agent.jsonl"

task '{"verify":["true"]}' <<<'@call
@background trap "" 1 2 15; while :; do sleep 60; done
@hang'
cancelled_in running
check_result '.stop_reason == null and .verify_results == [] and
	(.proxy_turns | length == 1)'
check "the agent's log is kept" test -s "$out/agent.jsonl"

cancelled_in running running_black_box --mode black_box

task '{"verify":["touch one","setsid sleep 990 & sleep 999","touch three"]}' \
	<<<'@call'
cancelled_in verifying
check_result '.files == {"one": ""} and .agent_exit_code == 0 and
	(.proxy_turns | length == 1) and (.verify_results | length == 2 and
	.[0].exit_code == 0 and .[1].exit_code == -1)'

task <<<'@call'
slow_proxy <<'END'
#!/bin/bash
exec sleep 600
END
cancelled_in arming

# The real one, but slow to end.
slow_proxy <<END
#!/bin/bash
"$(dirname "$OCTAP")/octap-proxy" "\$@" &
trap 'sleep 1; kill \$!; wait' TERM
wait; wait
END
cancelled_in settling
