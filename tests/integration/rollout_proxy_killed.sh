#!/usr/bin/env bash
# The death of the proxy while the agent runs ends the rollout at once; what it
# had recorded can be read.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

printf '{}\n{}\n{"fault":"silent"}\n' >"$tmp/script"
start_upstream "${answers[@]}" --script "$tmp/script"
task '{"verify":["true"]}' <<<'@calls 3
@hang'

begin_rollout killed --on-agent-failure score
wait_until 20 "the third call" upstream_has_request 3
proxy=$(rollout_process octap-proxy)
check "one proxy" equals "$(wc -w <<<"$proxy")" 1
kill -KILL "$proxy"
end_rollout 5
check "exit code" equals "$status" 1
check_result '.outcome == "failed" and .reward == null and
	.stop_reason == null and .verify_results == [] and
	(.error | contains("octap-proxy ended while the agent ran (exit 137)"))
	and (.proxy_turns | length == 2)'
use_trace
check_records 2
check_record 2 '.token_status == "exact"'
check "what the agent had said is kept" test -s "$out/agent.jsonl"

# With the whole of its record lost the file is still read to its end.
check "octap reads it" "$OCTAP" trace cat "$TRACE" >"$tmp/cat"
check "the same" cmp "$tmp/cat" <(trace)
