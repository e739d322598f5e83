#!/usr/bin/env bash
# An agent that hangs is killed with all it started; what it did is kept.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
task '{"verify":["test -e done"], "agent_timeout_s": 77}' <<'END'
@call
@sh touch done
@background sleep 990
@background (trap "" 1 2 15; setsid sleep 991 & exec sleep 992)
@sh echo last words
@hang
END

begin_rollout hanging --agent-timeout 1
wait_until 10 "its children" eval '(( $(rollout_process sleep | wc -l) == 3 ))'
end_rollout 10
check "exit code" equals "$status" 4
check_result '.outcome == "timed_out" and .stop_reason == "timeout" and
	.agent_exit_code == null and .reward == null and
	.verify_results == [] and (.error | startswith("agent timeout")) and
	.timings.running_s >= 0.9 and .timings.running_s < 3 and
	.timings.settling_s < 2'
check_result '.proxy_turns | length == 1 and .[0].token_status == "exact"'
check "its last words" equals "$(agent_output | grep .)" 'last words'
use_trace
check_records 1

# The task's own time, in the middle of a call.
kill_upstream
start_upstream "${answers[@]}" --fault silent
jq '.agent_timeout_s = 0.5 | .instruction = "@call"' "$tmp/task.json" \
	>"$tmp/short.json"
task_words=("$tmp/short.json")
rollout mid_call --on-agent-failure zero
check_result '.outcome == "timed_out" and .reward == 0 and
	(.proxy_turns | length == 1 and (.[0].complete | not))'
use_trace
check_record 1 '.abort_reason | length > 0'

jq '.instruction = "@sh touch done\n@hang"' "$tmp/short.json" \
	>"$tmp/task.json"
task_words=("$tmp/task.json")
rollout scored --on-agent-failure score
check_result '.outcome == "timed_out" and .reward == 1 and .truncated'
