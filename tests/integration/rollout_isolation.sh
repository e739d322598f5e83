#!/usr/bin/env bash
# What an agent tries in order to get out is refused, whoever runs octap.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
cp "$INTRUDER" "$tmp/intruder"

attacks()
{
	local home

	home=$(getent passwd "$(id -u)" | cut -d: -f6)
	task '{"upload":[{"from":"intruder","to":"/home/user/intruder"}],
		"setup":["grep -E ^Cap /proc/self/status"],
		"verify":["grep -E ^Cap /proc/self/status; test $(id -u) = 1000"]}' \
		<<-END
		@sh exec /home/user/intruder attack $home $tmp $state $PWD /proc/1/root/etc/shadow /work
		@sh grep -E '^(Cap|NoNewPrivs|Groups|Uid|Gid)' /proc/self/status
		@sh id -u; id -g; hostname; echo \$\$
		@sh env
		@sh find / -xdev -perm /6000 2>/dev/null | while read -r file; do "\$file" </dev/null >/dev/null 2>&1; done; id -u
		@sh ls /proc/1/fd /proc/1/cwd /etc
		@call
	END
	octap_env=(MARKER_OF_HOST="$mark")
	rollout attacked
	octap_env=()
	agent_output >"$tmp/said"

	check "tries" test "$(grep -c ' refused$' "$tmp/said")" -ge 42
	refute "one succeeded" grep -v '^allowed_' <(grep SUCCEEDED "$tmp/said")
	check "a success is seen" equals \
		"$(grep -c '^allowed_.* SUCCEEDED$' "$tmp/said")" 4

	# Without a capability, at any time.
	check_result '[.setup_results[0], .verify_results[0]] | all(.stdout |
		split("\n") | map(select(. != "")) | length == 5 and
		all(endswith("0000000000000000")))'
	check "capabilities of the agent" equals \
		"$(grep -c '^Cap.*:.0000000000000000$' "$tmp/said")" 5
	check "no new privileges" has_line "$tmp/said" $'NoNewPrivs:\t1'
	check "its uid" has_line "$tmp/said" $'Uid:\t1000\t1000\t1000\t1000'
	check "its host name" has_line "$tmp/said" octap
	check_result '.reward == 1 and .outcome == "completed"'

	# Nothing of octap's environment.
	refute "the environment of octap" grep -F MARKER_OF_HOST "$tmp/said"
	refute "its test" grep -F "$mark" <(grep -v refused "$tmp/said")
	refute "shadow files" grep -E '^(shadow|gshadow|ssh|sudoers)' "$tmp/said"
}

each_user attacks
