#!/usr/bin/env bash
# Two rollouts at a time: neither reaches the other, its folder or its proxy.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"

# The users of the processes of that name.
users_of()
{
	local pid

	for pid in $(rollout_process "$1"); do
		sed -n 's/^Uid:\t\([0-9]*\).*/\1/p' "/proc/$pid/status"
	done
}

two()
{
	local url id first workdir

	task <<-'END'
		@sh grep -o 'http://127[^"]*' <<<"$OPENCODE_CONFIG_CONTENT" >url; mv url there
		@call
		@sh while ! test -e go; do sleep 0.05; done
	END
	begin_rollout first
	first=$octap
	wait_until 20 "the first agent" file_exists workdir/there
	url=$(cat "$(sandbox_home)/workdir/there")
	id=$(basename "$(dirname "$(sandbox_home)")")

	task <<-END
		@sh grep -o 'sk-octap-[0-9a-f]*' <<<"\$OPENCODE_CONFIG_CONTENT" >/tmp/key; grep -o 'http://127[^"]*' <<<"\$OPENCODE_CONFIG_CONTENT" >/tmp/url
		@sh for url in $url "\$(cat /tmp/url)"; do curl -s -m 9 -o /dev/null -w '%{http_code}\n' -H "Authorization: Bearer \$(cat /tmp/key)" -d '{"model":"x","messages":[]}' \$url/chat/completions; done
		@sh ls -d $state/$id /proc/1/root$state 2>/dev/null; ps -e -o comm= | grep -c agent
		@call
		@sh touch there; while ! test -e go; do sleep 0.05; done
	END
	begin_rollout second
	wait_until 20 "the second agent" \
		eval '[[ -e $(ls -d "$state"/*/home/workdir/there | grep -v "$id") ]]'
	users_of agent >"$tmp/agents"
	users_of octap-proxy >"$tmp/proxies"
	for workdir in "$state"/*/home/workdir; do
		touch "$workdir/go"
	done
	end_of "$octap" 20
	end_of "$first" 20
	check_ended
	check "the other proxy, the own proxy, nothing else" equals \
		"$(agent_output | grep . | tr '\n' ' ')" '401 200 1 '
	check_result '.proxy_turns | length == 2'

	# What is run for an ordinary user has only that user.
	((EUID == 0 && ${#as[@]} == 0)) || return 0
	check "two agents, two proxies" \
		equals "$(cat "$tmp/agents" "$tmp/proxies" | wc -l)" 4
	check "four users" \
		equals "$(sort -u "$tmp/agents" "$tmp/proxies" | wc -l)" 4
	refute "one is root" grep -x 0 "$tmp/agents" "$tmp/proxies"
}

each_user two
