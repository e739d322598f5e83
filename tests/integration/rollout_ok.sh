#!/usr/bin/env bash
# A rollout that goes well, in both modes: result, report, files, exit code.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

members='["task_id", "sandbox_id", "reward", "agent_exit_code", "wall_s",
	"mode", "setup_results", "verify_results", "proxy_turns", "files",
	"files_extra", "agent_log_tail", "proxy_log_tail", "error", "outcome",
	"usage", "timings", "stop_reason", "truncated", "key_protected"]'
command_members='["cmd", "exit_code", "stdout", "stderr", "duration_s"]'
turn_members='["turn", "finish_reason", "completion_tokens",
	"completion_token_ids", "per_token_logps", "latency_s", "timestamp",
	"upstream_status", "upstream_error"]'

start_upstream "${answers[@]}" --require-key "$tmp/key"
task '{"task_id":"greet","setup":["echo made >made"],
	"verify":["grep hello greeting","test -f made"],
	"metadata":{"from":["here"]}}' <<'END'
@call
@sh echo hello >greeting; mkdir deep; echo x >deep/file
@call
END

well()
{
	rollout black_box --mode black_box
	check "exit code" equals "$status" 0
	check_result "(keys | contains($members)) and .outcome == \"completed\"
		and .mode == \"black_box\" and .proxy_turns == []
		and .reward == 1 and .key_protected == false"
	refute "there is no trace" test -e "$out/proxy_trace.jsonl.zst"

	rollout proxied
	check "exit code" equals "$status" 0
	check_result "(keys | contains($members))
		and .outcome == \"completed\" and .stop_reason == \"done\"
		and .task_id == \"greet\" and .reward == 1 and .error == null
		and .agent_exit_code == 0 and .truncated == false
		and .mode == \"transparent_proxy\" and .key_protected
		and .metadata == {\"from\":[\"here\"]}
		and .wall_s > 0 and .timings.running_s > 0
		and .usage.turns == 2 and .usage.turns_exact == 2
		and .usage.completion_tokens == 8"
	check_result ".setup_results + .verify_results | length == 3 and
		all(keys | contains($command_members)) and
		all(.exit_code == 0)"
	check_result ".proxy_turns | length == 2 and
		all(keys | contains($turn_members)) and
		all(.completion_tokens | length == 4) and
		all(.token_status == \"exact\") and
		all(.upstream_status == 200) and [.[].turn] == [1, 2]"
	check_result '.files == {"greeting": "hello\n", "made": "made\n",
		"deep/file": "x\n"} and .files_extra == []'
	check_result '.verify_results[0].stdout == "hello\n"'
	check "its files are collected" \
		cmp "$out/files/deep/file" <(echo x)
	check_json "$out/agent.jsonl" '.sessionID == "ses_main"'
	use_trace
	check_records 2
	check_record 1 '.rollout_id | length > 0'

	# Without --json: words for people, without colours in a pipe.
	octap_run run "$tmp/task.json" --base-url "$UPSTREAM/v1" \
		--model fake-model --api-key-env UPSTREAM_KEY \
		--agent-binary "$agent" --out "$place/report" >"$tmp/report"
	name=report
	assert_nothing_left
	for word in 'Task greet' completed 'reward 1' running verifying exact \
		'grep hello greeting' proxy_trace.jsonl.zst result.json; do
		check "the report says $word" has_line "$tmp/report" "$word"
	done
	refute "escape sequences" grep $'\033' "$tmp/report"

	# Nothing is written over.
	octap_run run "$tmp/task.json" --base-url "$UPSTREAM/v1" \
		--model fake-model --agent-binary "$agent" \
		--out "$place/report" 2>"$tmp/refusal" && fail "written over"
	check "it says so" has_line "$tmp/refusal" 'is not empty'
}

each_user well
