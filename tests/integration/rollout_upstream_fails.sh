#!/usr/bin/env bash
# A model server that fails: the agent's end is the rollout's, and every call
# is recorded with what came back.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

printf '{"error":{"message":"No.","type":"refused"}}' >"$tmp/no.json"

# The faults, by the name of what happens to a lone call.
declare -A faults=(
	[status_401]='"status":401,"body":"'$tmp/no.json'"'
	[status_429]='"status":429,"body":"'$tmp/no.json'"'
	[status_500]='"status":500,"body":"'$tmp/no.json'"'
	[cut]='"fault":"cut","fault-after":900'
	[reset]='"fault":"rst","fault-after":900'
	[no_answer]='"fault":"close-before-head"'
	[no_finish]='"fault":"no-finish"'
	[engine_error]='"fault":"error-event","fault-after":900'
)

# fails NAME TURN-FILTER
fails()
{
	check "$name: exit code" equals "$status" 3
	check_result ".outcome == \"agent_failed\" and
		.stop_reason == \"error\" and .agent_exit_code == 1 and
		.reward == null and .verify_results == [] and
		(.proxy_turns | length == 2) and (.proxy_turns[1] | $1)"
	use_trace
	check_records 2
}

task '{"verify":["true"]}' <<<'@calls 9'
for fault in "${!faults[@]}"; do
	printf '{}\n{%s}\n' "${faults[$fault]}" >"$tmp/script"
	start_upstream "${answers[@]}" --script "$tmp/script"
	rollout "$fault"
	case $fault in
	status_*)
		fails ".upstream_status == ${fault#status_} and
			(.upstream_error | tostring | contains(\"No.\"))"
		;;
	no_answer)
		fails '.upstream_status == null and .complete == false and
			.upstream_error != null'
		;;
	*)
		fails '.upstream_status == 200 and .complete == false'
		;;
	esac
	kill_upstream
done

# All of them after each other, to an agent that goes on; without the one that
# makes libcurl ask again on a connection that was used before.
unset 'faults[no_answer]'
printf '{%s}\n' "${faults[@]}" >"$tmp/script"
printf '{}\n' >>"$tmp/script"
start_upstream "${answers[@]}" --script "$tmp/script"
task '{"verify":["true"]}' < <(printf '@try-call\n%.0s' "${!faults[@]}"; echo @call)
rollout all
check_result '.outcome == "completed" and .reward == 1 and
	(.proxy_turns | length == 8 and .[7].complete and
	all(.[:7][]; .complete == false))'
kill_upstream

# It says nothing, until the agent's time is over.
start_upstream "${answers[@]}" --fault silent
task '{"verify":["true"]}' <<<'@call'
rollout silent --agent-timeout 0.5
check_result '.outcome == "timed_out" and (.proxy_turns | length == 1 and
	.[0].upstream_status == null and .[0].complete == false)'

# It is not there.
kill_upstream
rollout gone
check_result '.outcome == "agent_failed" and (.proxy_turns | length == 1 and
	.[0].upstream_status == null and .[0].upstream_error != null)'
check_result '.error | test("agent.jsonl")'
rollout gone_black_box --mode black_box
check_result '.outcome == "agent_failed" and .proxy_turns == []'
