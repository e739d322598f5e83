#!/usr/bin/env bash
# The upstream's key is in nothing that a rollout leaves, however it ended, and
# with octap-proxy in nothing that the agent sees.  (What every rollout of every
# test leaves is looked through, too: check_ended in lib_rollout.sh.)
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

printf '{"error":{"message":"Wrong key: %s"}}' "$key" >"$tmp/echo.json"
start_upstream "${answers[@]}" --require-key "$tmp/key"

# What an agent sees of itself.
look='@sh env; tr "\0" "\n" </proc/$PPID/cmdline; cat /proc/self/mountinfo
@sh find /home /tmp /etc /opt /run -type f -readable -exec cat {} + 2>/dev/null | strings | grep sk-
@sh cp /proc/$PPID/environ environ
@call'
task '{"verify":["env >verified","true"]}' <<<"$look"
rollout proxied
check_result '.outcome == "completed" and .key_protected'
check "its own key is seen" has_line "$out/agent.jsonl" sk-octap-
check "the agent's files" test -s "$out/files/environ"
refute "what it gave to stay" grep -F UPSTREAM_KEY "$out/files/verified"

# In black_box mode it has the key, and octap does not copy it out.
rollout black_box --mode black_box
check_result '.outcome == "completed" and .key_protected == false'

# Failures of all kinds, in both modes.
fails()
{
	rollout "$@"
	check_result '.outcome != "completed"'
	rollout "${1}_black_box" --mode black_box "${@:2}"
}

task '{"setup":["env; cat /proc/self/cmdline; false"]}' <<<'@call'
fails setup
task <<<'@sh env >&2
@exit 5'
fails agent
task <<<'@sh env
@hang'
fails timeout --agent-timeout 0.3
task <<<'@call'
fails unreachable --base-url http://127.0.0.1:9
fails no_host --base-url http://nowhere.invalid
kill_upstream
start_upstream "${answers[@]}" --status 401 --body "$tmp/echo.json"
fails echoed
