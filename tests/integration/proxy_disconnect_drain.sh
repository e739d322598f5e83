#!/usr/bin/env bash
# With --on-disconnect=drain the answer of an agent that hung up is recorded to
# its end; without, the upstream is let go at once.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}" --chunk 300 --delay 30
start_proxy --dialect vllm --on-disconnect drain
ask gone "$tmp/stream.json" --max-time 0.2 2>/dev/null || true
wait_until 10 "the record" has_records 1
check_record 1 '.complete and .delivered == false and .side_effects == null
	and .token_status == "exact" and .finish_reason == "stop"'
wait_until 5 "its end" upstream_saw answered 1
stop_proxy

start_proxy --dialect vllm
ask gone "$tmp/stream.json" --max-time 0.2 2>/dev/null || true
wait_until 10 "the record" has_records 2
check_record 2 '.complete == false and .delivered == false'
wait_until 5 "the upstream is let go" upstream_saw peer_gone 2
stop_proxy

# It is asked for again while the first answer is still drained.
start_proxy --dialect vllm --on-disconnect drain --trace "$tmp/again.jsonl"
session=(-H 'x-session-id: ses_1')
ask gone "$tmp/stream.json" "${session[@]}" --max-time 0.1 2>/dev/null || true
ask again "$tmp/stream.json" "${session[@]}"
ask next "$tmp/stream.json" "${session[@]}"
check "attempts" equals "$(jq -c '[.turn, .attempt, .supersedes, .delivered]' \
	"$tmp/again.jsonl" | tr '\n' ' ')" \
	'[1,1,null,false] [2,2,1,true] [3,1,null,true] '
