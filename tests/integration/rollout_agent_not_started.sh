#!/usr/bin/env bash
# An agent that cannot be started is no agent that failed.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
task '{"verify":["true"]}' <<<'@call'

# not_started NAME OPTION...
not_started()
{
	rollout "$@" --on-agent-failure zero
	check_result '.outcome == "failed" and .stop_reason == null and
		.reward == null and (.error | contains("could not be started",
		"executable", "built for this machine"))'
}

cp "$FAKE_AGENT" "$tmp/agent"
agent=$tmp/agent
chmod 644 "$agent"
not_started mode
not_started mode_black_box --mode black_box
chmod 755 "$agent"
printf '\x13' | dd of="$agent" bs=1 seek=18 conv=notrunc status=none
not_started machine

# Its own exit code, after it ran.
agent=$FAKE_AGENT
task <<<'@call
@exit 127'
rollout own
check_result '.outcome == "agent_failed" and .agent_exit_code == 127'
