#!/usr/bin/env bash
# Whatever the key looks like, result.json is JSON and says what it would say
# with another; only black_box files, whose agent has the key, are masked.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
long='"turns_exact":'
task '{"verify":["cat said","echo null test EMPTY"],
	"metadata":{"number":123456789012,"text":"null"}}' <<'END'
@sh echo '"turns_exact":' null test EMPTY >said
@call
END

# with_key NAME KEY OPTION...
with_key()
{
	octap_env=(ODD_KEY="$2")
	rollout "$1" --api-key-env ODD_KEY "${@:3}"
	check "$1: JSON" jq -e . "$out/result.json"
	check_result '.outcome == "completed" and .reward == 1 and
		.metadata == {number: 123456789012, text: "null"} and
		.usage.turns_exact == .usage.turns and
		(.verify_results[1].stdout == "null test EMPTY\n")'
}

n=0
for odd in null test EMPTY 123456789012 "$long" '{}},"metadata":'; do
	n=$((n + 1))
	with_key "proxied$n" "$odd"
	check "as the agent wrote it" equals "$(cat "$out/files/said")" \
		"$long null test EMPTY"
	with_key "black_box$n" "$odd" --mode black_box
done
with_key long "$long" --mode black_box
check "masked" equals "$(cat "$out/files/said")" \
	'************** null test EMPTY'
check_result '.verify_results[0].stdout == "************** null test EMPTY\n"'
