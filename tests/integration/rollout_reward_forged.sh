#!/usr/bin/env bash
# A reward file that the agent left never counts, whatever it is.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
reward=/home/user/logs/verifier/reward.txt

# leaves NAME BASH: done by the agent; the only verify command fails
leaves()
{
	task '{"verify":["false"]}' <<<"@sh cd /home/user; $2
@call"
	rollout "$1"
	check_result '.outcome == "completed" and .reward == 0 and
		.reward_override_ignored == null and .error == null'
}

leaves file "mkdir -p logs/verifier; echo 1 >$reward"
leaves link "mkdir -p logs/verifier; echo 1 >/tmp/1; ln -s /tmp/1 $reward"
leaves folder "mkdir -p $reward/1"
leaves fifo "mkdir -p logs/verifier; mkfifo $reward"
leaves linked_logs "mkdir -p mine/verifier; echo 1 >mine/verifier/reward.txt
	mv logs logs.old; ln -s mine logs"
leaves linked_folder "mkdir -p mine; echo 1 >mine/reward.txt
	ln -s /home/user/mine logs/verifier"
leaves closed_folder "mkdir -p logs/verifier; echo 1 >$reward
	chmod 0 $reward logs/verifier logs"
leaves deep "mkdir -p $reward; cd $reward
	for ((i = 0; i < 3000; i++)); do mkdir d; cd d; done"
