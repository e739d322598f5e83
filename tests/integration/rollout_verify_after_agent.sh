#!/usr/bin/env bash
# Verify begins when every process of the agent is dead, however it fled.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
task '{"verify":["a=$(cat tick); sleep 0.5; test \"$a\" = \"$(cat tick)\"",
	"! ps -e -o comm= | grep -xE \"sleep|date|agent\""]}' <<'END'
@background while sleep 0.05; do date +%s.%N >tick; done
@background (trap "" 1 2 3 15; while sleep 0.05; do date +%N >tick; done) & disown -a
@sh while ! test -e tick; do sleep 0.01; done
@call
END
rollout left_children
check_result '.outcome == "completed" and .reward == 1'
