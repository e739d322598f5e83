#!/usr/bin/env bash
# A child that a command leaves, and that writes for ever, holds nothing up.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
noise='(yes & yes & yes >&2 &)'
task "{\"setup\":[\"$noise; echo done\"],\"verify\":[\"$noise; sleep 0.2\",
	\"true\"],\"setup_timeout_s\":20}" <<'END'
@call
END
rollout noise --agent-timeout 20
check_result '.outcome == "completed" and .reward == 1'
check_result '[.setup_results, .verify_results | .[].duration_s < 10] | all'
