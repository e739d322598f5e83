#!/usr/bin/env bash
# A model server that fails an agent, which then ends: that is not the agent's
# failure, and every call is recorded with what came back.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

printf '{"error":{"message":"No.","type":"refused"}}' >"$tmp/no.json"

# The faults, by the name of what happens to a lone call.
declare -A faults=(
	[status_400]='"status":400,"body":"'$tmp/no.json'"'
	[status_401]='"status":401,"body":"'$tmp/no.json'"'
	[status_404]='"status":404,"body":"'$tmp/no.json'"'
	[status_422]='"status":422,"body":"'$tmp/no.json'"'
	[status_429]='"status":429,"body":"'$tmp/no.json'"'
	[status_500]='"status":500,"body":"'$tmp/no.json'"'
	[cut]='"fault":"cut","fault-after":900'
	[reset]='"fault":"rst","fault-after":900'
	[no_answer]='"fault":"close-before-head"'
	[no_finish]='"fault":"no-finish"'
	[engine_error]='"fault":"error-event","fault-after":900'
)

# fails TURN-FILTER WORD...: the words are of the error
fails()
{
	local word

	check "$name: exit code" equals "$status" 1
	check_result '.outcome == "failed" and .stop_reason == null and
		.agent_exit_code == 1 and .reward == null and
		.verify_results == [] and .truncated == false'
	check_turns "$1"
	for word in "the model server" "${@:2}"; do
		check_result --arg word "$word" '.error | contains($word)'
	done
}

check_turns()
{
	check_result "(.proxy_turns | length == 2) and (.proxy_turns[1] | $1)"
	use_trace
	check_records 2
}

# refused_request TURN-FILTER: the agent asked for something it should not have
refused_request()
{
	check_result '.outcome == "agent_failed" and .stop_reason == "error"
		and .agent_exit_code == 1 and .reward == 0'
	check_turns "$1"
}

# has_status N FUNCTION WORD...
has_status()
{
	"$2" ".upstream_status == $1 and
		(.upstream_error | tostring | contains(\"No.\"))" "${@:3}"
}

task '{"verify":["true"]}' <<<'@calls 9'
for fault in "${!faults[@]}"; do
	printf '{}\n{%s}\n' "${faults[$fault]}" >"$tmp/script"
	start_upstream "${answers[@]}" --script "$tmp/script"
	rollout "$fault" --on-agent-failure zero
	case $fault in
	status_4[02][02])
		has_status "${fault#status_}" refused_request
		;;
	status_*)
		has_status "${fault#status_}" fails "${fault#status_}" '(No.)'
		;;
	no_answer)
		fails '.upstream_status == null and .complete == false and
			.upstream_error != null' 'no answer' 'base-url'
		;;
	*)
		fails '.upstream_status == 200 and .complete == false' \
			'not whole'
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
	(.proxy_turns | length == 11 and .[10].complete and
	all(.[:10][]; .complete == false))'
kill_upstream

# It says nothing, until the agent's time is over.
start_upstream "${answers[@]}" --fault silent
task '{"verify":["true"]}' <<<'@call'
rollout silent --agent-timeout 0.5 --on-agent-failure zero
check_result '.outcome == "timed_out" and .reward == 0 and (.proxy_turns | length == 1 and
	.[0].upstream_status == null and .[0].complete == false)'

# It failed, and the agent waits until its time is over.
kill_upstream
start_upstream "${answers[@]}" --status 500 --body "$tmp/no.json"
task '{"verify":["true"]}' <<<'@try-call
@hang'
rollout waiting --agent-timeout 0.5 --on-agent-failure score
check_result '.outcome == "failed" and .reward == null and
	.stop_reason == null and (.error | contains("500"))'

# It failed a title only; the agent ended for a reason of its own.
task <<<'@title-call
@exit 3'
rollout title
check_result '.outcome == "failed"'
kill_upstream
printf '{}\n{"status":500}\n' >"$tmp/script"
start_upstream "${answers[@]}" --script "$tmp/script"
task <<<'@call
@title-call
@exit 3'
rollout only_title
check_result '.outcome == "agent_failed"'

# It is not there.
kill_upstream
task '{"verify":["true"]}' <<<'@call'
rollout gone
check_result '.outcome == "failed" and (.proxy_turns | length == 1 and
	.[0].upstream_status == null and .[0].upstream_error != null)'
check_result '.error | test("no answer .*onnect")'
rollout gone_black_box --mode black_box
check_result '.outcome == "agent_failed" and .proxy_turns == []'
