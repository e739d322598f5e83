#!/usr/bin/env bash
# A setup command that takes too long is killed with all it started.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
task '{"setup":["setsid sleep 998 & sleep 999"], "setup_timeout_s": 0.5,
	"verify":["true"]}' <<<'@call'
begin_rollout slow
wait_until 10 "both to run" eval '(( $(rollout_process sleep | wc -l) == 2 ))'
end_rollout
check_result '.outcome == "failed" and .reward == null and
	(.error | startswith("setup command timed out")) and
	.verify_results == [] and .agent_exit_code == null'
check_result '.setup_results | length == 1 and (.[0] |
	.exit_code == 137 and .timed_out and .duration_s >= 0.4 and
	.duration_s < 3)'
check_result '.timings.setup_s < 3'
