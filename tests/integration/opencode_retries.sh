#!/usr/bin/env bash
# Failures of the model server that the real opencode asks again after: each
# call is recorded, the agent's time ends it, and the server is to blame.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

use_opencode
task '{"verify":["true"]}' <<<'Say hello.'
printf '{"error":{"message":"Oops.","type":"server_error"}}' >"$tmp/oops.json"
start_upstream --status 500 --body "$tmp/oops.json"
begin_rollout broken --agent-timeout 24
broken=$octap
start_upstream --status 429 --body "$tmp/oops.json"
begin_rollout busy --agent-timeout 24
busy=$octap
start_upstream "${answers[@]}" --fault cut --fault-after 900
rollout cut --agent-timeout 24
end_of "$broken" 40
end_of "$busy" 40

# retried FILTER
retried()
{
	check_result ".outcome == \"failed\" and .stop_reason == null
		and .reward == null and (.error | contains(\"model server\")) and .agent_exit_code == null and
		(.proxy_turns | length >= 1 and all($1))"
	use_trace
	check_record 1 '.complete == false'
}

retried '.upstream_status == 200 and .complete == false'
out=$place/broken
retried '.upstream_status == 500'
out=$place/busy
retried '.upstream_status == 429'
assert_nothing_left
