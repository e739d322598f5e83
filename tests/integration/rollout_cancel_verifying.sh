#!/usr/bin/env bash
# Ctrl-C between or within verify commands: the files are collected all the same.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
jq -n '{instruction: "@sh echo x >made\n@call", verify_files: {hidden: "x"},
	verify: ["touch started; echo 0.5 >$OCTAP_REWARD_FILE",
	(range(400) | "true")]}' >"$tmp/task.json"
for i in {0..24}; do
	begin_rollout "cancelled$i"
	wait_until 20 "the first command" file_exists workdir/started
	sleep "0.0$((i * 37 % 100))"
	kill -INT "$octap"
	end_rollout 20
	check_result '.outcome == "cancelled" and .reward == null and
		.files.made == "x\n" and .files_extra == []'
done
