#!/usr/bin/env bash
# Failures of the model server that the real opencode asks again after: each
# call is recorded, the agent's time ends it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

use_opencode
task '{"verify":["true"]}' <<<'Say hello.'
printf '{"error":{"message":"Oops.","type":"server_error"}}' >"$tmp/oops.json"
start_upstream --status 500 --body "$tmp/oops.json"
begin_rollout broken --agent-timeout 14
broken=$octap
start_upstream --status 429 --body "$tmp/oops.json"
begin_rollout busy --agent-timeout 14
busy=$octap
start_upstream "${answers[@]}" --fault cut --fault-after 900
rollout cut --agent-timeout 14
end_of "$broken" 20
end_of "$busy" 20

# retried FILTER
retried()
{
	check_result ".outcome == \"timed_out\" and .stop_reason == \"timeout\"
		and .reward == null and .agent_exit_code == null and
		(.proxy_turns | length >= 2 and all($1))"
	use_trace
	check_record 1 '.complete == false'
}

retried '.upstream_status == 200 and .complete == false'
out=$place/broken
retried '.upstream_status == 500'
out=$place/busy
retried '.upstream_status == 429'
assert_nothing_left
