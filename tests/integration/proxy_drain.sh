#!/usr/bin/env bash
# SIGTERM or SIGINT with an answer under way: it is delivered as a whole and
# recorded, new connections are refused, the exit status is 0.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}" --chunk 300 --delay 150
refused()
{
	! curl -sS --max-time 1 "$URL/healthz" 2>/dev/null
}

# drains SIGNAL TURN
drains()
{
	local agent

	start_proxy --dialect vllm
	ask answer "$tmp/stream.json" &
	agent=$!
	wait_until 5 "the answer's beginning" test -s "$tmp/answer"
	kill "-$1" "$PROXY_PID"
	wait_until 1 "new connections to be refused" refused
	wait "$agent"
	check "the answer is whole" cmp "$tmp/answer" \
		"$wire/vllm/text.plain.sse"
	end_of "$PROXY_PID" 2
	check "exit status" equals "$status" 0
	check_record "$2" '.complete and .delivered and
		.token_status == "exact"'
	check_json <(tail -n 1 "$PROXY_OUT") '.event == "stopped" and
		.turns == 1 and .delivered == 1 and .in_flight == 0'
	rm "$tmp/answer"
}

drains TERM 1
drains INT 2
