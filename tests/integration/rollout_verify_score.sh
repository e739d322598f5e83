#!/usr/bin/env bash
# The reward is the share of verify commands that exit 0; none stops the others.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
task '{"verify":["exit 3","kill -TERM $$; sleep 9","echo seen"]}' <<<'@call'
rollout third
check "exit code" equals "$status" 0
check_result '.reward > 0.333 and .reward < 0.334 and
	.outcome == "completed" and .error == null and
	[.verify_results[].exit_code] == [3, 143, 0] and
	.verify_results[2].stdout == "seen\n"'

task '{"verify":["false","false"]}' <<<'@call'
rollout none
check_result '.reward == 0'

task <<<'@call'
rollout unverified
check_result '.reward == null and .verify_results == [] and
	.outcome == "completed"'

task '{"verify":[]}' <<<'@call'
rollout empty
check_result '.reward == null'

# Verify sees the task's environment and where the reward file is.
task '{"env":{"OF_TASK":"x y"},
	"verify":["test \"$OF_TASK\" = \"x y\"", "pwd",
	"echo $OCTAP_REWARD_FILE"]}' <<<'@call'
rollout environment
check_result '.reward == 1 and
	.verify_results[1].stdout == "/home/user/workdir\n" and
	.verify_results[2].stdout == "/home/user/logs/verifier/reward.txt\n"'
