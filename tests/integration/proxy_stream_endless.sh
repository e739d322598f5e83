#!/usr/bin/env bash
# A line of 100 MB in a stream, or a stream of events without end: the memory
# stays small, the agent gets an error or hangs up, and the record says why.
. "$(dirname "$0")/lib.sh"

{
	head -n 2 "$wire/vllm/text.asked.sse"
	printf 'data: {"choices":[{"index":0,"delta":{"content":"'
	head -c 100000000 /dev/zero | tr '\0' x
} >"$tmp/line"
printf ': nothing\n\n%.0s' {1..5000} >"$tmp/comments"
printf 'id: 1\nevent: nothing\n\n%.0s' {1..5000} >"$tmp/fields"
printf 'data: {"nothing":"%0900d"}\n\n%.0s' {1..100} >"$tmp/foreign"
printf '\n%.0s' {1..50000} >"$tmp/blank"
cat >"$tmp/script" <<-END
	{"stream":"$tmp/line"}
	{"stream":"$tmp/comments","endless":true}
	{"stream":"$tmp/fields","endless":true}
	{"stream":"$tmp/foreign","endless":true}
	{"stream":"$tmp/blank","endless":true}
	{"body":"$tmp/line"}
	{"status":500,"body":"$tmp/line","endless":true}
	{}
END
start_upstream "${answers[@]}" --script "$tmp/script"
start_proxy

ask answer "$tmp/stream.json"
check_status answer 200
tail -n 2 "$tmp/answer" | sed -n 's/^data: //p' >"$tmp/error"
check_error "$tmp/error"
check_record 1 '.complete == false and (.abort_reason | test("16777215"))
	and .completion_tokens == []'
check_memory 65536

for turn in 2 3 4 5; do
	status=0
	ask answer "$tmp/stream.json" --max-time 1 2>/dev/null || status=$?
	check "it goes on until the agent hangs up" equals "$status" 28
	wait_until 2 "its record" has_records "$turn"
	check_record "$turn" '.complete == false and
		(.abort_reason | test("agent"))'
done
check_memory 65536

for body in whole stream; do
	ask answer "$tmp/$body.json"
	check_status answer 502
	check_error "$tmp/answer"
done
check_record 6 '.complete == false and (.abort_reason | test("67108863"))'
check_record 7 '.complete == false and (.abort_reason | test("1048575"))'
ask answer "$tmp/stream.json"
check "the next call" cmp "$tmp/answer" "$wire/vllm/text.plain.sse"
