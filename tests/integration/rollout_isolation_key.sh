#!/usr/bin/env bash
# The upstream's key is nowhere that the agent can look.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}" --require-key "$tmp/key"
cp "$INTRUDER" "$tmp/intruder"

# What the agent itself is to send is found in each of the places.
searches()
{
	task '{"upload":[{"from":"intruder","to":"/home/user/intruder"}],
		"files":{"planted":"sk-octap-planted"}}' <<-END
		@call
		@sh /home/user/intruder search $(rev <<<"$key")
		@sh echo end of search; exec 9<planted; rm planted
		@sh echo sk-octap-planted >planted; exec 9<planted; bash -c 'sleep 9; :' sk-octap-planted >/dev/null 2>&1 & /home/user/intruder search -patco-ks; kill \$!
		@call
	END
	rollout searched
	check_result '.outcome == "completed" and .key_protected'
	agent_output | grep . >"$tmp/said"
	check "the key was found" equals "$(head -n 1 "$tmp/said")" \
		'end of search'
	for place in environ cmdline memory fd file; do
		check "a key in $place is seen" grep -q "^$place " "$tmp/said"
	done
}

each_user searches

# In black_box mode it is the agent's own, and the result says so.
task <<<'@call'
rollout black_box --mode black_box
check_result '.outcome == "completed" and .key_protected == false'
