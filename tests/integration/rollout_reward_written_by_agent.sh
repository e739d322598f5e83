#!/usr/bin/env bash
# A program of the agent's that the verifier runs cannot write the reward, unless
# the command that runs it uses the reward file itself.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
reward=/home/user/logs/verifier/reward.txt

# forges NAME MEMBERS REWARD-FILTER: ./solution, which the agent wrote, does its
# best whenever it is run
forges()
{
	cat >"$tmp/solution" <<-END
		#!/bin/bash
		mkdir -p ${reward%/*}
		echo 1 >\${OCTAP_REWARD_FILE:-$reward}
		chmod 444 $reward
		chmod 555 ${reward%/*}
		echo 'echo hidden, but not to me' >/home/user/hidden/check
		(setsid bash -c 'while sleep 0.01; do
			chmod -R u+w ${reward%/*}; echo 1 >$reward
			echo true >/home/user/hidden/check; done' &)
		exit 1
	END
	task "$2" < <(printf "@sh echo %s | base64 -d >solution; chmod 755 solution\n@call" \
		"$(base64 -w0 "$tmp/solution")")
	rollout "$1"
	check_result '.outcome == "completed"'
	check_result "$3"
}

# A task without a use for it.
forges unused '{"verify":["./solution","env | grep REWARD"]}' \
	'.reward == 0 and .reward_override_ignored == null'

# It is used by another command, before or after.
forges after '{"verify":["./solution","echo 0.25 >$OCTAP_REWARD_FILE"]}' \
	'.reward == 0.25'
forges before '{"verify":["echo 0.5 >$OCTAP_REWARD_FILE","./solution",
	"test $(cat /home/user/logs/verifier/reward.txt) = 0.5"]}' \
	'.reward == 0.5 and .verify_results[2].exit_code == 0'
forges crashed '{"verify":["./solution","false && echo 1 >$OCTAP_REWARD_FILE"]}' \
	'.reward == 0'

# Hidden files are as they were, for each command.
forges hidden '{"verify_files":{"/home/user/hidden/check":"exit 1"},
	"verify":["./solution","sleep 0.2; bash /home/user/hidden/check"]}' \
	'.reward == 0'
check_result '.verify_results[1].stdout == ""'

# By a hidden file, or under its path alone.
forges by_file '{"verify_files":{"t.sh":"echo 0.75 >~/logs/verifier/reward.txt"},
	"verify":["bash t.sh"]}' '.reward == 0.75'
printf 'echo 0.5 >$OCTAP_REWARD_FILE' >"$tmp/t.sh"
forges by_upload '{"verify_upload":[{"from":"t.sh","to":"t.sh"}],
	"verify":["bash t.sh"]}' '.reward == 0.5'
