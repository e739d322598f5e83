#!/usr/bin/env bash
# A folder for results belongs to one rollout: one that is not empty is refused,
# and of several octaps at once one gets it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
task '{"verify":["true"]}' <<<'@call'
out=$place/out
command=(run "$tmp/task.json" --agent-binary "$agent" --model m
	--base-url "$UPSTREAM" --out "$out")

# refused WHY
refused()
{
	status=0
	octap_run "${command[@]}" >"$tmp/stdout" 2>"$tmp/stderr" || status=$?
	check "$1: exit code" equals "$status" 2
	check "$1: it says so" has_line "$tmp/stderr" "$1"
	check "$1: nothing on stdout" equals "$(cat "$tmp/stdout")" ''
}

mkdir "$out"
touch "$out/.mine"
refused 'out is not empty'
check "as it was" equals "$(ls -A "$out")" .mine
rm "$out/.mine"

# Ten at once.
for i in {1..10}; do
	octap_run "${command[@]}" --json >"$tmp/$i.stdout" 2>"$tmp/$i.stderr" &
	pids[i]=$!
done
codes=()
for pid in "${pids[@]}"; do
	status=0
	wait "$pid" || status=$?
	codes[status]=$((${codes[status]:-0} + 1))
done
check "one went well" equals "${codes[0]}" 1
check "the others were refused" equals "${codes[2]}" 9
check "its result" cmp "$out/result.json" <(cat "$tmp"/*.stdout)
check "its turn" equals "$(jq '.proxy_turns | length' "$out/result.json")" 1
refused 'out is not empty'
refute "a marker" test -e "$out/.running"

# Left by one that was killed.
rm -r "$out"
mkdir "$out"
touch "$out/.running"
refused 'that was killed'
