#!/usr/bin/env bash
# A setup command that fails ends the rollout: nothing after it is run.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
task '{"setup":["echo fine","echo said; echo complained >&2; exit 7",
	"touch after"], "verify":["touch verified"]}' <<'END'
@sh touch agent-was-here
@call
END
rollout failing
check "exit code" equals "$status" 1
check_result '.outcome == "failed" and .reward == null and
	.stop_reason == null and .agent_exit_code == null and
	(.error | startswith("setup command failed (exit 7): echo said")) and
	.verify_results == [] and .proxy_turns == [] and .files == {}'
check_result '.setup_results | length == 2 and
	.[1] == (.[1] + {"exit_code": 7, "stdout": "said\n",
		"stderr": "complained\n", "timed_out": false})'
refute "the agent ran" test -e "$out/agent.jsonl"
refute "the model was called" upstream_has_request 1

# Killed by a signal, and more output than is kept.
task '{"setup":["seq 1 100000; kill -9 $$"]}' <<<'@call'
rollout killed
check_result '.setup_results[0] | .exit_code == 137 and
	(.stdout | length == 2000 and endswith("99999\n100000\n"))'

# Output that is no UTF-8.
task '{"setup":["printf \"\\303(\\377\\0end\"; exit 1"]}' <<<'@call'
rollout bytes
check_result '.setup_results[0].stdout |
	startswith("\ufffd(\ufffd") and endswith("end")'
