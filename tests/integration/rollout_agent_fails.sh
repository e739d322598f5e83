#!/usr/bin/env bash
# An agent that fails is neither verified nor scored unless that is asked for.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
failing='@call
@sh touch it-worked
@exit 3'
task '{"verify":["test -e it-worked","false"]}' <<<"$failing"

rollout null
check "exit code" equals "$status" 3
check_result '.outcome == "agent_failed" and .stop_reason == "error" and
	.agent_exit_code == 3 and .reward == null and .verify_results == [] and
	(.error | startswith("agent exited non-zero (3)")) and
	.truncated == false and (.proxy_turns | length == 1) and
	.files == {"it-worked": ""}'

rollout score --on-agent-failure score
check "exit code" equals "$status" 3
check_result '.outcome == "agent_failed" and .agent_exit_code == 3 and
	.reward == 0.5 and (.verify_results | length == 2) and .truncated'

rollout zero --on-agent-failure zero
check "exit code" equals "$status" 3
check_result '.outcome == "agent_failed" and .reward == 0 and
	.verify_results == []'

task '{"verify":["true"]}' <<<'@die 11'
rollout killed
check_result '.outcome == "agent_failed" and .agent_exit_code == 139 and
	.reward == null and .verify_results == []'

task '{"verify":["true"]}' <<<'@sh rm -rf /home/user/logs; ls /home/user
@exit 2'
rollout no_log
check_result '.outcome == "agent_failed" and .agent_exit_code == 2'

# Without a model call nothing was learnt, though the agent says it went well.
task '{"verify":["true"]}' <<<'@exit 0'
rollout silent
check_result '.outcome == "failed" and .reward == null and
	(.error | contains("without a model call"))'
