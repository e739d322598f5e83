#!/usr/bin/env bash
#
# What octap adds to opencode: the wall time of `octap run` and of a bare
# `opencode run` in turn, same scripted answers, same task, same configuration.
set -euo pipefail

cd "$(dirname "$0")/../.."
OCTAP=${OCTAP:-build/release/bin/octap}
agent=$PWD/build/agent/opencode
runs=${RUNS:-7}
tmp=$(mktemp -d)
replay=
trap '[[ -z $replay ]] || kill "$replay"; rm -rf "$tmp"' EXIT

# The scripted answers write to the workdir: for the bare run to another one.
sed "s|/home/user/workdir|$tmp/workdir|g" templates/demo/scripted.jsonl \
	>"$tmp/bare.jsonl"
jq -r .instruction templates/demo/task.json | tr -d '\n' >"$tmp/instruction"

start_replay()
{
	local line

	exec 3< <(exec "$OCTAP" replay "$1")
	replay=$!
	read -r line <&3
	port=$(jq -r .port <<<"$line")
}

stop_replay()
{
	kill "$replay"
	wait "$replay" 2>/dev/null || true
	replay=
	exec 3<&-
}

# The environment that octap gives opencode, told by a bash in its place.
ask_environment()
{
	"$OCTAP" run --mode black_box --agent-binary /bin/bash \
		--instruction none --setup 'echo "env -0 >environment" >run' \
		--base-url http://127.0.0.1:9/v1 --model scripted-demo \
		--out "$tmp/ask" >/dev/null
	tr '\0' '\n' <"$tmp/ask/files/environment" |
		grep -vE '^(_|PWD|OLDPWD|SHLVL)='
}

# Milliseconds of a command.
timed()
{
	local begin=${EPOCHREALTIME/./}

	"$@" >"$tmp/log" 2>&1 || {
		cat "$tmp/log" >&2
		exit 1
	}
	echo $(((${EPOCHREALTIME/./} - begin) / 1000))
}

bare_run()
{
	local environment

	mapfile -t environment < <(sed -e "s|/home/user|$tmp/home|g" \
		-e "s|127.0.0.1:9/v1|127.0.0.1:$port/v1|" "$tmp/environment")
	(cd "$tmp/workdir" &&
		env -i "${environment[@]}" "$agent" run --format json \
			--title task --auto <"$tmp/instruction" \
			>"$tmp/events" 2>"$tmp/stderr")
}

# A home as octap's sandbox has it: new each time, nothing to be fetched.
fresh_home()
{
	local config=$tmp/home/.config/opencode

	rm -rf "${tmp:?}/home" "$tmp/workdir"
	mkdir -p "$config/node_modules" "$tmp/workdir"
	printf '{"dependencies":{"@opencode-ai/plugin":"1.18.33"}}' \
		>"$config/package.json"
	printf '{"lockfileVersion":3,"packages":{"":%s}}' \
		"$(cat "$config/package.json")" >"$config/package-lock.json"
}

octap_run()
{
	rm -rf "$tmp/out"
	"$OCTAP" run templates/demo/task.json --agent-binary "$agent" \
		--base-url "http://127.0.0.1:$port/v1" --model scripted-demo \
		--out "$tmp/out"
}

median()
{
	sort -n | sed -n "$(((runs + 1) / 2))p"
}

ask_environment >"$tmp/environment"
for ((i = 0; i < runs; i++)); do
	fresh_home
	start_replay "$tmp/bare.jsonl"
	timed bare_run >>"$tmp/bare"
	stop_replay
	test -s "$tmp/workdir/fizzbuzz.py"
	start_replay templates/demo/scripted.jsonl
	timed octap_run >>"$tmp/octap"
	stop_replay
	jq -e '.reward == 1' "$tmp/out/result.json" >/dev/null
	jq '[.timings | to_entries[] | select(.key != "running_s").value]
		| add * 1000' "$tmp/out/result.json" >>"$tmp/own"
done
bare=$(median <"$tmp/bare")
octap=$(median <"$tmp/octap")
printf 'bare opencode run     %8d ms   (median of %d)\n' "$bare" "$runs"
printf 'octap run             %8d ms   (%+d ms; aim: under 300 ms added)\n' \
	"$octap" $((octap - bare))
printf "octap's own phases    %8.0f ms\n" "$(median <"$tmp/own")"
