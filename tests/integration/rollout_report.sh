#!/usr/bin/env bash
# The report shows names from elsewhere as they are, and on one line.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
jq -n '{task_id: "a\u001b[2Jb\nc", verify: ["true"],
	instruction: "@sh touch \"$(printf \"x\\ny\\33[1m\")\"\n@call"}' \
	>"$tmp/task.json"
octap_run run "$tmp/task.json" --agent-binary "$agent" --out "$place/out" \
	--base-url "$UPSTREAM" --model $'m\e]0;t\an\nlast' >"$tmp/report"
refute "control characters" grep -P '[\x01-\x09\x0b-\x1f]' "$tmp/report"
for text in 'Task a\x1b[2Jb\x0ac  completed' 'model m\x1b]0;t\x07n\x0alast, ' \
	'x\x0ay\x1b[1m'; do
	check "it has $text" has_line "$tmp/report" "$text"
done
