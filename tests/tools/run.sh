#!/usr/bin/env bash
#
# Run test programs: tests/tools/run.sh [-j N] [-t SECONDS] [-l FOLDER] TEST...
#
# N at once (default: one more than there are cores, for many only wait), each
# ended after SECONDS (default 120).  Exit status 77 of a test means skipped,
# with the reason as its last line.  The log of what failed stays in FOLDER
# (default build/test-logs), its end is shown; all else is silent.
set -euo pipefail

jobs=$(($(nproc) + 1))
seconds=120
logs=build/test-logs
while getopts j:t:l: option; do
	case $option in
	j) jobs=$OPTARG ;;
	t) seconds=$OPTARG ;;
	l) logs=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))

mkdir -p "$logs"
counts=$(mktemp -d)
trap 'rm -rf "$counts"' EXIT
trap 'kill $(jobs -pr) 2>/dev/null; wait; exit 1' INT TERM HUP
: >"$counts/passed"
: >"$counts/failed"

run_one()
{
	local name log status=0 start=${EPOCHREALTIME/./} took pid

	name=$(basename "$1" .sh)
	log=$logs/$name.log
	timeout -k 10 "$seconds" "$1" >"$log" 2>&1 </dev/null &
	pid=$!
	trap 'kill "$pid"; wait "$pid"' INT TERM HUP
	wait "$pid" || status=$?
	took=$(((${EPOCHREALTIME/./} - start) / 100000))
	took="$((took / 10)).$((took % 10)) s"
	case $status in
	0)
		printf 'ok %s (%s)\n' "$name" "$took"
		printf '.' >>"$counts/passed"
		rm "$log"
		;;
	77)
		printf 'skip %s: %s\n' "$name" "$(tail -n 1 "$log")"
		rm "$log"
		;;
	*)
		((status != 124)) || printf 'ended after %s s\n' "$seconds" \
			>>"$log"
		printf 'FAIL %s (%s): %s\n%s\n' "$name" "$took" "$log" \
			"$(tail -n 60 "$log" | sed 's/^/    /')"
		printf '.' >>"$counts/failed"
		;;
	esac
}

for test in "$@"; do
	while (($(jobs -pr | wc -l) >= jobs)); do
		wait -n || true
	done
	run_one "$test" &
done
wait

passed=$(wc -c <"$counts/passed")
failed=$(wc -c <"$counts/failed")
printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
