#!/usr/bin/env bash
# The demo's task with the real opencode, in both modes.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

use_opencode
task_words=("$PWD/templates/demo/task.json")

solved()
{
	check "exit code" equals "$status" 0
	check_result '.outcome == "completed" and .stop_reason == "done" and
		.reward == 1 and .agent_exit_code == 0 and
		(.verify_results | length == 3 and all(.exit_code == 0)) and
		(.files | keys == ["fizzbuzz.py"]) and .files_extra == []'
	check "its program" equals \
		"$(python3 "$out/files/fizzbuzz.py" | sed -n 15p)" FizzBuzz
	check "events" equals "$(jq -r 'select(.type == "tool_use").part |
		"\(.tool) \(.state.status)"' "$out/agent.jsonl" | tr '\n' ' ')" \
		'write completed bash completed '
}

start_replay templates/demo/scripted.jsonl
rollout proxied
solved
check_result '.proxy_turns | length == 3 and
	all(.token_status == "exact" and .kind == "agent" and .delivered)'
use_trace
check_record 1 '.session_id | startswith("ses_")'
check_record 2 '.request.messages[0].content | startswith("You are opencode")'

start_replay templates/demo/scripted.jsonl
rollout black_box --mode black_box
solved
