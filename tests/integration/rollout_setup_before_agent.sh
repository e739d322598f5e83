#!/usr/bin/env bash
# Setup ends before the agent begins, and each command runs once.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
task '{"setup":["sleep 0.7; touch slow","echo once >>log; cat log",
	"test -e slow"]}' <<'END'
@sh test -e slow && echo setup was first
@call
END
rollout ordered
check "the agent found it" equals "$(agent_output)" 'setup was first'
check_result '.outcome == "completed" and (.setup_results |
	length == 3 and all(.exit_code == 0) and .[1].stdout == "once\n" and
	.[0].duration_s >= 0.7 and .[0].duration_s < 5)'
check_result '.timings.setup_s >= 0.7'
