#!/usr/bin/env bash
# octap's exit codes, one for each outcome.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"

# ends CODE NAME OPTION...
ends()
{
	local code=$1

	shift
	rollout "$@"
	check "exit code of $name" equals "$status" "$code"
}

task <<<'@call'
ends 0 completed
task '{"setup":["false"]}' <<<'@call'
ends 1 failed
task <<<'@exit 9'
ends 3 agent_failed
task <<<'@hang'
ends 4 timed_out --agent-timeout 0.3

task '{"verify":["false"]}' <<<'@call'
ends 0 no_reward
check_result '.reward == 0'

# A result that cannot be printed, whatever it is.
for program in '@call' '@exit 9'; do
	task <<<"$program"
	for form in --json ''; do
		for where in full closed; do
			status=0
			out=$place/$where$form${program:1:1}
			set -- run "$tmp/task.json" --model m \
				--base-url "$UPSTREAM" --out "$out" \
				--agent-binary "$agent" ${form:+"$form"}
			case $where in
			full) octap_run "$@" >/dev/full 2>"$tmp/stderr" ;;
			closed) octap_run "$@" >&- 2>"$tmp/stderr" ;;
			esac || status=$?
			check "exit code, $where $form" equals "$status" 1
			check "it says why" has_line "$tmp/stderr" stdout
			check "the file" jq -e .outcome "$out/result.json"
		done
	done
done

# refused COMMAND-LINE...: usage, before anything is made
refused()
{
	status=0
	octap_run "$@" >"$tmp/stdout" 2>"$tmp/stderr" || status=$?
	check "exit code of $*" equals "$status" 2
	check "it says why" grep -q '^octap: ' "$tmp/stderr"
	check "nothing on stdout" equals "$(cat "$tmp/stdout")" ''
	check "no folder" equals "$(find "$place" -name 'octap-*')" "$state"
}

refused
refused walk
refused run
refused run --no-such-option
refused run "$tmp/task.json" --mode gate --model m --base-url "$UPSTREAM"
refused run "$tmp/task.json" --sandbox vm --model m --base-url "$UPSTREAM"
refused run "$tmp/task.json" "$tmp/task.json" --model m \
	--base-url "$UPSTREAM"
refused run "$tmp/task.json" --instruction x --model m --base-url "$UPSTREAM"
refused run "$tmp/task.json" --model m --base-url "$UPSTREAM" \
	--agent-binary "$tmp/nothing"
refused run "$tmp/task.json" --model m --base-url "$UPSTREAM" \
	--agent-binary "$0"
refused run "$tmp/task.json" --model m --base-url "$UPSTREAM" \
	--agent-binary /bin
check "it says so" has_line "$tmp/stderr" '/bin: it is a folder'
refused run "$tmp/nothing.json" --model m --base-url "$UPSTREAM"
