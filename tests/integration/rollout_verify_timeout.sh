#!/usr/bin/env bash
# A verify command that takes too long is killed with what fled from it; the
# next one runs all the same.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
task '{"verify_timeout_s": 0.5, "verify": [
	"setsid bash -c \"trap true TERM; while sleep 0.1; do date +%N >tick; done\" & sleep 999",
	"ps -e -o comm= >left; a=$(cat tick); sleep 0.4; test \"$a\" = \"$(cat tick)\""]}' \
	<<<'@call'
begin_rollout stubborn
wait_until 10 "the first one's child" file_exists workdir/tick
end_rollout
check_result '.outcome == "completed" and .reward == 0.5 and
	(.verify_results | length == 2 and
	(.[0] | .timed_out and .exit_code == 137) and
	(.[1] | .timed_out == false and .exit_code == 0))'
refute "the child is gone before the next one" \
	grep -xE 'sleep|date' "$out/files/left"
