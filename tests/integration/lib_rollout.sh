# shellcheck shell=bash
#
# Common to the tests of whole rollouts, which source it after lib.sh:
#
#	task '{"verify":["true"]}' <<<'@call'	$tmp/task.json
#	rollout NAME OPTION...		octap run to its end: $status, $out
#	check_result [JQ-OPTION]... JQ-FILTER
#	begin_rollout NAME OPTION...	only started: $octap is its pid
#	end_rollout SECONDS		... and ended
#	each_user FUNCTION		as we are, and if we are root also with
#					octap run by an unprivileged user
#
# Each rollout that ended must have left nothing behind, said nothing of the
# key, and printed its result.json and nothing else.

OCTAP=$(realpath "$OCTAP")
FAKE_AGENT=$(realpath "$FAKE_AGENT")
INTRUDER=${INTRUDER:-$(dirname "$FAKE_AGENT")/intruder}
NOBODY=65534

# What is looked for in /proc: it is in every path of this test.
mark=$(basename "$tmp")
key=sk-upstream-$mark
printf '%s' "$key" >"$tmp/key"

as=()    # how to become the user who runs octap
place=   # a folder of that user's; octap runs in it
state=   # where octap keeps the folders of sandboxes
programs=$(dirname "$OCTAP")
agent=$FAKE_AGENT
octap=

# --- Who runs octap. ---------------------------------------------------------

# be PLACE UID
be()
{
	place=$1
	mkdir -p "$place/tmp"
	state=$place/tmp/octap-$2
}

be_ourselves()
{
	as=()
	be "$tmp/self" "$EUID"
	programs=$(dirname "$OCTAP")
	agent=$FAKE_AGENT
}

# False: such a user could not get at our files.
be_nobody()
{
	as=(setpriv --reuid "$NOBODY" --regid "$NOBODY" --clear-groups)
	be "$tmp/nobody" "$NOBODY"
	programs=$tmp/bin
	agent=$tmp/bin/agent
	chmod 755 "$tmp"
	mkdir -p "$programs"
	cp "$OCTAP" "$(dirname "$OCTAP")/octap-proxy" "$programs"
	cp "$FAKE_AGENT" "$agent"
	chown -R "$NOBODY:$NOBODY" "$place"
	"${as[@]}" test -x "$programs/octap"
}

each_user()
{
	be_ourselves
	"$@"
	((EUID == 0)) || return 0
	be_nobody || {
		echo "$tmp cannot be reached by an unprivileged user" >&2
		return 0
	}
	"$@"
	be_ourselves
}

be_ourselves

# --- Tasks. ------------------------------------------------------------------

# task [MEMBERS]: the instruction is what comes in, without its last line feed
task()
{
	jq -Rs --argjson members "${1:-{\}}" \
		'{instruction: rtrimstr("\n")} + $members' >"$tmp/task.json"
}

# --- Rollouts. ---------------------------------------------------------------

# octap_exec WORD...: become octap, in its user's folder
octap_exec()
{
	cd "$place" || exit 1
	exec "${as[@]}" env --default-signal "${octap_env[@]}" \
		TMPDIR="$place/tmp" UPSTREAM_KEY="$key" "$programs/octap" "$@"
}
octap_env=() # words of env(1)

octap_run()
{
	(octap_exec "$@")
}

begin_rollout()
{
	local upstream=(--base-url "$UPSTREAM/v1" --model fake-model
		--api-key-env UPSTREAM_KEY)

	name=$1
	out=$place/$name
	shift
	[[ $own_model ]] || set -- "${upstream[@]}" "$@"
	octap_exec run "${task_words[@]}" --agent-binary "$agent" \
		--out "$out" --json "$@" \
		>"$tmp/$name.stdout" 2>"$tmp/$name.stderr" &
	octap=$!
	running[$octap]="octap $name"
}
task_words=("$tmp/task.json")
own_model= # not empty: the test says itself where the model is

end_rollout()
{
	end_of "$octap" "${1:-20}"
	check_ended
}

rollout()
{
	begin_rollout "$@"
	end_rollout 60
}

# The codes of octap.1.
declare -A code_of=([completed]=0 [failed]=1 [agent_failed]=3 [timed_out]=4
	[cancelled]=130)

# What holds after every rollout that ended by itself.
check_ended()
{
	local outcome

	assert_nothing_left
	check "$name: stdout is result.json" \
		cmp "$tmp/$name.stdout" "$out/result.json"
	outcome=$(jq -r .outcome "$out/result.json")
	check "$name: exit code of $outcome" \
		equals "$status" "${code_of[$outcome]}"
	refute "$name: the key is somewhere" \
		grep -raF "$key" "$out" "$tmp/$name.stderr"
}

check_result()
{
	check_jq "$out/result.json" "$@"
}

# check_jq FILE [JQ-OPTION]... JQ-FILTER
check_jq()
{
	local file=$1

	shift
	jq -e "$@" "$file" >/dev/null ||
		{ cat "$file" >&2; fail "$name: $(basename "$file"): ${!#}"; }
}

# What the agent printed, as JSON lines: the outputs of its @sh.
agent_output()
{
	jq -r 'select(.type == "tool_use").part.state.output' "$out/agent.jsonl"
}

# The rollout's own trace for lib.sh's records and so on.
use_trace()
{
	TRACE=$out/proxy_trace.jsonl.zst
}

# --- Model servers and agents. ------------------------------------------------

# start_replay FILE [OPTION]...: octap replay, as the model of what follows
start_replay()
{
	local pid port

	replays=$((replays + 1))
	listener "replay.$replays" "$OCTAP" replay "$@"
	URL=http://127.0.0.1:$port
	UPSTREAM=$URL
	REPLAY_PID=$pid
	REPLAY_OUT=$tmp/replay.$replays.out
}
replays=0

use_opencode()
{
	[[ -x build/agent/opencode ]] ||
		fail "build/agent/opencode is missing: make demo installs it"
	agent=$(realpath build/agent/opencode)
}

# calls_tool COMMAND: a stream of a model that has bash run it
calls_tool()
{
	jq -nc --arg command "$1" '
		def event($delta; $finish): {id: "chatcmpl-1", created: 1,
			object: "chat.completion.chunk", model: "fake-model",
			choices: [{index: 0, delta: $delta,
				finish_reason: $finish}]};
		event({role: "assistant", content: "", tool_calls: [{index: 0,
			id: "call_1", type: "function", function: {name: "bash",
			arguments: ({command: $command, description: "It."} |
				tojson)}}]}; null),
		event({}; "tool_calls")' | sed 's/^/data: /; s/$/\n/'
	printf 'data: [DONE]\n\n'
}

# --- What is left. -----------------------------------------------------------

# Pids of this test's rollouts.  What is inside a sandbox sees a mount of ours,
# whatever it does; octap and octap-proxy name our paths.
rollout_processes()
{
	local path pid

	for path in $(grep -lsaF -f <(echo "$mark") \
		/proc/[0-9]*/{mountinfo,cmdline,environ}); do
		pid=${path#/proc/}
		pid=${pid%%/*}
		[[ ${running[$pid]:-octap} != octap* ]] || echo "$pid"
	done | sort -un
}

# By the name of its program.
rollout_process()
{
	local pid

	for pid in $(rollout_processes); do
		[[ $(cat "/proc/$pid/comm" 2>/dev/null) != "$1" ]] || echo "$pid"
	done
}

nothing_runs()
{
	[[ -z $(rollout_processes) ]]
}

assert_nothing_left()
{
	local pid

	for pid in $(rollout_processes); do
		tr '\0' ' ' <"/proc/$pid/cmdline" >&2 || continue
		fail "$name: process $pid is left"
	done
	assert_no_folder_left
}

assert_no_folder_left()
{
	[[ ! -d $state ]] ||
		check "$name: a folder is left in $state" \
			equals "$(find "$state" -mindepth 1 -maxdepth 1)" ''
}

# --- Waiting. ----------------------------------------------------------------

# The home of the rollout under way, as seen from outside.
sandbox_home()
{
	echo "$state"/*/home
}

# in_sandbox TEST: of a file below the home
file_exists()
{
	[[ -e $(sandbox_home)/$1 ]]
}

upstream_has_request()
{
	upstream_saw request "$1"
}
