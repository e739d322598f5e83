#!/usr/bin/env bash
# A number in [0, 1] that a verify command writes is the reward; anything else
# it writes is reported and does not count.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"

# writes NAME BASH: a verify command, beside one that passes and one that fails
writes()
{
	jq -n --arg command "$2" '{instruction: "@call", verify:
		["true", "false", $command]}' >"$tmp/task.json"
	rollout "$1"
}

# counts NAME TEXT REWARD
counts()
{
	writes "$1" "printf -- '$2' >\"\$OCTAP_REWARD_FILE\"; false"
	check_result ".reward == $3 and .reward_override_ignored == null and
		.outcome == \"completed\" and (.verify_results | length == 3)"
}

counts quarter 0.25 0.25
counts spaces ' \t0.5\n\n' 0.5
counts one 1 1
counts zero 0.0 0
counts exponent 2.5e-1 0.25
counts minus_zero -0 0
counts too_small 1e-400 0
check "no -0" has_line "$place/minus_zero/result.json" $'"reward":\t0,'

# ignored NAME TEXT: 1/3 of the commands exited 0
ignored()
{
	writes "$1" "printf -- '$2' >\"\$OCTAP_REWARD_FILE\"; false"
	check_result ".reward > 0.333 and .reward < 0.334 and
		.outcome == \"completed\" and
		(.reward_override_ignored | startswith(\"${2:0:2}\"))"
}

ignored nan nan
ignored inf inf
ignored two 2
ignored negative -1
ignored just_above 1.0000001
ignored text 'good'
ignored empty ''
ignored hexadecimal 0x1
ignored two_numbers '1 1'
ignored list '[1]'
ignored percent '50%%'
writes no_utf8 'printf "\377" >"$OCTAP_REWARD_FILE"; false'
check_result '.reward_override_ignored == "\ufffd"'

# Files that are none.
writes folder 'rm -rf "$OCTAP_REWARD_FILE"; mkdir "$OCTAP_REWARD_FILE"; false'
check_result '.reward < 0.34 and (.reward_override_ignored | length > 0)'
writes fifo 'mkfifo "$OCTAP_REWARD_FILE"; false'
check_result '.reward < 0.34 and (.reward_override_ignored | length > 0)'
writes link 'echo 1 >/tmp/one; ln -s /tmp/one "$OCTAP_REWARD_FILE"; false'
check_result '.reward < 0.34 and (.reward_override_ignored | length > 0)'
writes large 'head -c 9999999 /dev/zero >"$OCTAP_REWARD_FILE"; false'
check_result '.reward < 0.34 and .outcome == "completed" and
	(.reward_override_ignored | length > 0)'

# Written by a command that then takes too long: it counts as it stands.
jq -n '{instruction: "@call", verify_timeout_s: 0.3, verify:
	["echo 0.75 >$OCTAP_REWARD_FILE; sleep 99"]}' >"$tmp/task.json"
rollout late
check_result '.reward == 0.75 and .verify_results[0].timed_out'
