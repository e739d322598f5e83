#!/usr/bin/env bash
# What a tool of the real opencode leaves running does not outlive the agent.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

use_opencode
calls_tool 'setsid sleep 991 >/dev/null 2>&1 & (trap "" 1 2 15; exec sleep 992) >/dev/null 2>&1 & echo started >mark' \
	>"$tmp/tool.sse"
printf '{"stream":"%s"}\n{}\n' "$tmp/tool.sse" >"$tmp/script"
start_upstream "${answers[@]}" --script "$tmp/script" --first-delay 500
task '{"verify":["grep -q started mark","! ps -e -o comm= | grep -x sleep"]}' \
	<<<'Leave something running.'
begin_rollout leaving
wait_until 30 "the children" eval '(( $(rollout_process sleep | wc -l) == 2 ))'
end_rollout 30
check_result '.outcome == "completed" and .reward == 1 and
	(.proxy_turns | length == 2)'

# Ctrl-C while it works.
kill_upstream
printf '{"stream":"%s"}\n{"fault":"silent"}\n' "$tmp/tool.sse" >"$tmp/script"
start_upstream "${answers[@]}" --script "$tmp/script"
begin_rollout cancelled
wait_until 30 "the second call" upstream_has_request 2
kill -INT "$octap"
end_rollout 10
check_result '.outcome == "cancelled" and (.proxy_turns | length == 2)'
