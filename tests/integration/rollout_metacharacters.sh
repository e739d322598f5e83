#!/usr/bin/env bash
# Characters that mean something to a shell, a URL or a configuration are only
# characters, wherever they stand.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

mkdir "$tmp/saved"
start_upstream "${answers[@]}" --save-requests "$tmp/saved"
model='m'\''; touch pwned # "$(touch pwned)`touch pwned` {env:HOME}'
value='a b'$'\n''$(touch pwned)'\''"`touch pwned` \ {env:HOME}'
printf 'content\n' >"$tmp/up load'\$(touch pwned).txt"

jq -n --arg value "$value" '{
	task_id: "id \"; touch pwned #",
	instruction: "@sh printf %s \"$VALUE\" >value; ls\n@call",
	env: {VALUE: $value, "ODD_NAME": "$(touch pwned)"},
	setup: ["printf %s \"$VALUE\""],
	files: {"with space $(touch pwned).txt": $value, "-rf": "x"},
	upload: [{from: "up load\u0027$(touch pwned).txt", to: "to \u0027x.txt"}],
	system_prompt: "sys $(touch pwned) {file:/etc/passwd}\" \u0027",
	verify: ["test \"$(cat value)\" = \"$VALUE\"",
		"test \"$ODD_NAME\" = \"\\$(touch pwned)\"",
		"cmp value \"with space \\$(touch pwned).txt\""]
	}' >"$tmp/task.json"

meant()
{
	rollout "out ' \$(touch pwned) \"dir" --model "$model" "$@"
	check_result '.outcome == "completed" and .reward == 1'
	check_result --arg model "$model" '.model == $model'
	check_result --arg value "$value" '.setup_results[0].stdout == $value
		and .files.value == $value and .files["-rf"] == "x" and
		.files["with space $(touch pwned).txt"] == $value and
		.files["to \u0027x.txt"] == "content\n" and
		.task_id == "id \"; touch pwned #"'
	refute "something was executed" grep . <(find "$tmp" -name pwned)
}

meant
check_jq "$tmp/saved/1.body" --arg model "$model" '.model == $model and
	.messages[0].content == "sys $(touch pwned) {file:/etc/passwd}\" \u0027"'
rm -rf "$out"
meant --mode black_box
check_jq "$tmp/saved/2.body" --arg model "$model" '.model == $model'

# A path of the base URL that a shell or a format would read otherwise.
rm -rf "$out"
path="/a'b\$(touch)%20%s;c&d/v1"
meant --base-url "$UPSTREAM$path"
check "the path" equals "$(jq -r 'select(.number == 3).target // empty' \
	"$UPSTREAM_LOG")" "$path/chat/completions"
