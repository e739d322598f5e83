#!/usr/bin/env bash
# The proxy is killed under the real opencode: the rollout ends at once, and
# what was recorded can be read, before and after.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

use_opencode
calls_tool 'echo hello' >"$tmp/tool.sse"
printf '{"stream":"%s"}\n{"fault":"silent"}\n' "$tmp/tool.sse" >"$tmp/script"
start_upstream "${answers[@]}" --script "$tmp/script"
task '{"verify":["true"]}' <<<'Run something.'

finish_reasons()
{
	zstdcat "$out/proxy_trace.jsonl.zst" |
		jq -r '.response.choices[].finish_reason'
}

begin_rollout killed
wait_until 30 "the second call" upstream_has_request 2
check "read while it runs" equals "$(finish_reasons)" tool_calls
kill -KILL "$(rollout_process octap-proxy)"
end_rollout 5
check_result '.outcome == "failed" and .reward == null and
	(.error | contains("octap-proxy ended while the agent ran")) and
	(.proxy_turns | length == 1)'
check "read afterwards" equals "$(finish_reasons)" tool_calls
