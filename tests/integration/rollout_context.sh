#!/usr/bin/env bash
# A full window is no failure: verified, scored, marked as truncated.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

printf '{"error":{"message":"This model has a maximum context length of 8"}}' \
	>"$tmp/full.json"
printf '{}\n{"status":400,"body":"%s"}\n' "$tmp/full.json" >"$tmp/script"

full()
{
	check "exit code" equals "$status" 0
	check_result '.outcome == "completed" and .stop_reason == "context" and
		.truncated and .reward == 1 and .agent_exit_code == 1 and
		.error == null and (.verify_results | length == 1)'
}

# Only said by the agent's log, which anything that it runs can write to.
start_upstream "${answers[@]}"
task '{"verify":["true"]}' <<<'@call
@overflow'
rollout said
check_result '.outcome == "agent_failed" and .stop_reason == "error" and
	.reward == null and .truncated == false'
rollout said_black_box --mode black_box
full

# Only answered, the agent ends for a reason of its own.
kill_upstream
start_upstream "${answers[@]}" --script "$tmp/script"
task '{"verify":["true"]}' <<<'@call
@call'
rollout overridden
full
task '{"verify":["true"]}' <<<'@exit 3'
rollout other
check_result '.outcome == "agent_failed"'

# As the model server says it.
kill_upstream
start_upstream "${answers[@]}" --script "$tmp/script"
task '{"verify":["true"]}' <<<'@calls 9'
rollout answered
full
check_result '.proxy_turns | length == 2 and .[1].upstream_status == 400 and
	(.[1].upstream_error | tostring | contains("maximum context"))'
