#!/usr/bin/env bash
# A log of the agent's that cannot be kept is a failure, not a warning.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"

# lost NAME FILE OPTION...: while the agent runs the disk becomes full, for
# octap at least, but for something as small as the result
lost()
{
	begin_rollout "$1" "${@:3}"
	wait_until 20 "the agent" file_exists workdir/runs
	prlimit --pid "$octap" --fsize=12000
	touch "$(sandbox_home)/workdir/go"
	end_rollout 20
	check_result --arg file "$2" '.outcome == "failed" and .reward == null
		and .verify_results == [] and .error_kind == "system" and
		(.error | contains($file, "File too large"))'
	refute "half of it" test -e "$out/$2"
}

waits='@sh touch runs; until test -e go; do sleep 0.05; done
@call'
task '{"verify":["true"]}' <<<"$waits
@sh head -c 20000 /dev/zero | tr '\0' x"
lost log agent.jsonl

task '{"verify":["true"]}' <<<"$waits
@sh head -c 20000 /dev/zero | tr '\0' x >>/home/user/logs/agent/opencode.stderr
@exit 3"
lost errors agent.stderr --on-agent-failure zero
