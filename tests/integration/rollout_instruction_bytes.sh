#!/usr/bin/env bash
# The instruction reaches the model byte for byte, in both modes.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

mkdir "$tmp/saved"
start_upstream "${answers[@]}" --save-requests "$tmp/saved"
requests=0

# sent NAME OPTION...: stdin is the instruction, which makes one call
sent()
{
	cat >"$tmp/instruction"
	jq -Rs '{instruction: .}' "$tmp/instruction" >"$tmp/task.json"
	rollout "$@"
	check_result '.outcome == "completed"'
	requests=$((requests + 1))
	jq -j '.messages[] | select(.role == "user").content' \
		"$tmp/saved/$requests.body" >"$tmp/received"
	check "$name: as it was" cmp "$tmp/instruction" "$tmp/received"
	refute "something was executed" test -e "$out/files/pwned"
}

awkward()
{
	printf '%s\n' '-n --help $(touch pwned) `touch pwned` "double" '\''si' \
		'$HOME ${PATH} ~ * ? [a] {b,c} ; | & < > ! # % ^ = @' \
		'\ \n \\ \" \u0041 %s %n {env:HOME} {file:/etc/passwd}' \
		$'tab\there, cr\r, bell\a, escape\033[0m, del\177' \
		'ünïcode ✓ 漢字 🙂' $'line\xe2\x80\xa8separator \xef\xbb\xbf bom' \
		'@call' '</s><|im_end|> "}' "'"
	printf '  two lines feeds at the end, spaces before \n\n\n'
}

long()
{
	printf -- '--help\n@call\n'
	head -c 300000 /dev/zero | tr '\0' x
}

sent awkward < <(awkward)
sent awkward_black_box --mode black_box < <(awkward)
sent long < <(long)
sent no_line_feed < <(printf '@call')

# The same by option.
rm -rf "$tmp/task.json"
task_words=(--instruction $'$(touch pwned) "\'\n@call\n')
printf '%s' "${task_words[1]}" >"$tmp/instruction"
rollout option
requests=$((requests + 1))
check "as it was" cmp "$tmp/instruction" <(jq -j \
	'.messages[] | select(.role == "user").content' \
	"$tmp/saved/$requests.body")
