#!/usr/bin/env bash
# A model server that never answers the real opencode: the agent's time ends
# the rollout, and the call under way is on disk.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

use_opencode
start_upstream "${answers[@]}" --fault silent
task '{"verify":["true"]}' <<<'Say hello.'
rollout silent --agent-timeout 20
check_result '.outcome == "timed_out" and .stop_reason == "timeout" and
	.reward == null and .agent_exit_code == null and
	(.error | contains("20 s")) and
	(.proxy_turns | length == 1 and .[0].complete == false)'
use_trace
check_record 1 '.abort_reason != null and (.request.messages | length >= 2)'
