#!/usr/bin/env bash
# A budget of calls that is used up is no failure: verified, scored, truncated.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream --stream "$wire/vllm/tools.asked.sse"
task '{"verify":["true","false"]}' <<<'@until-stop'

rollout two --max-turns 2
check "exit code" equals "$status" 0
check_result '.outcome == "completed" and .stop_reason == "max_turns" and
	.truncated and .reward == 0.5 and .agent_exit_code == 0 and
	.error == null and (.proxy_turns | length == 2 and
	all(.finish_reason == "tool_calls"))'
use_trace
check_records 2
refute "a third call" upstream_has_request 3

# As many as it needs: nothing is truncated.
task '{"verify":["true"]}' <<<'@calls 2'
rollout enough --max-turns 2
check_result '.stop_reason == "done" and .truncated == false and .reward == 1'
