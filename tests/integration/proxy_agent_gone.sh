#!/usr/bin/env bash
# An agent that hangs up, before the head or within the answer, ends the call
# upstream at once; what came is recorded.
. "$(dirname "$0")/lib.sh"

cat >"$tmp/script" <<-END
	{"first-delay":60000}
	{"chunk":"1000","delay":60000}
	{"first-delay":60000}
	{"chunk":"100","delay":60000}
	{}
END
start_upstream "${answers[@]}" --script "$tmp/script"
start_proxy

# hangs_up TURN BODY-FILE
hangs_up()
{
	status=0
	ask answer "$2" --max-time 0.4 2>/dev/null || status=$?
	check "the agent gave up" equals "$status" 28
	wait_until 1 "the call's end upstream" upstream_saw peer_gone "$1"
	wait_until 1 "its record" has_records "$1"
	check_record "$1" '.complete == false and .delivered == false and
		(.abort_reason | test("agent")) and .finish_reason == null and
		.side_effects == null'
}

hangs_up 1 "$tmp/stream.json"
check_record 1 '.upstream.status == null and .upstream.attempts == 1'
hangs_up 2 "$tmp/stream.json"
check_record 2 '.upstream.status == 200 and .completion_tokens == ["Hello"]'
hangs_up 3 "$tmp/whole.json"
hangs_up 4 "$tmp/whole.json"

ask answer "$tmp/stream.json"
check "the next call is answered" cmp "$tmp/answer" "$wire/vllm/text.plain.sse"
health >"$tmp/health"
check_json "$tmp/health" '.turns == 5 and .delivered == 1 and .in_flight == 0'
