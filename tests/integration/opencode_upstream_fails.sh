#!/usr/bin/env bash
# Failures of the model server that the real opencode does not ask again after:
# each ends the rollout at once, after one call, and is not the agent's failure.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

use_opencode
printf '{"error":{"message":"No such key.","type":"invalid_request_error"}}' \
	>"$tmp/no.json"
printf '{"error":{"message":"%s","code":"context_length_exceeded"}}' \
	"This model's maximum context length is 4096 tokens." >"$tmp/full.json"
task '{"verify":["true"]}' <<<'Say hello.'

# ends NAME UPSTREAM-OPTION...
ends()
{
	start_upstream "${answers[@]}" "${@:2}"
	rollout "$1"
	check_result '.proxy_turns | length == 1'
	check_result '.timings.running_s < 30'
	refute "$1: a second call" upstream_saw request 2
	kill_upstream
}

ends unauthorized --status 401 --body "$tmp/no.json"
check_result '.outcome == "failed" and .stop_reason == null and
	.agent_exit_code == 1 and .reward == null and
	.proxy_turns[0].upstream_status == 401 and
	(.error | contains("401 (No such key.)", "--api-key-env"))'

ends without_finish --fault no-finish
check_result '.outcome == "failed" and .agent_exit_code == 1 and
	.reward == null and .proxy_turns[0].complete == false'

ends overflow --status 400 --body "$tmp/full.json"
check_result '.outcome == "completed" and .stop_reason == "context" and
	.truncated and .reward == 1 and .agent_exit_code == 1'
