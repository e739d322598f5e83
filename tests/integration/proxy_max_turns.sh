#!/usr/bin/env bash
# After --max-turns delivered answers the agent gets a final answer of the
# proxy's own, which is not recorded; what was not delivered does not count.
. "$(dirname "$0")/lib.sh"

printf '{}\n{"status":500}\n{"fault":"no-finish"}\n{}\n' >"$tmp/script"
start_upstream "${answers[@]}" --script "$tmp/script"
start_proxy --max-turns 2
for status in 200 500 200 200; do
	ask answer "$tmp/stream.json"
	check_status answer "$status"
	refute "not synthetic" grep -qi '^x-octap-synthetic' "$tmp/answer.head"
done
check_records 4
health >"$tmp/health"
check_json "$tmp/health" '.delivered == 2 and .max_turns_reached == false'

for i in 1 2; do
	ask answer "$tmp/stream.json"
	check_status answer 200
	check "the stream's header" grep -qi '^x-octap-synthetic:' \
		"$tmp/answer.head"
	check "its type" grep -qi '^content-type: text/event-stream' \
		"$tmp/answer.head"
	check "it ends" equals "$(grep . "$tmp/answer" | tail -n 1)" \
		'data: [DONE]'
	sed -n '/\[DONE\]/d; s/^data: //p' "$tmp/answer" | jq -s . \
		>"$tmp/events"
	check_json "$tmp/events" 'all(.[]; .object == "chat.completion.chunk"
		and (.id | length > 0) and (.created > 0) and (.model != ""))
		and .[0].choices[0].delta.role == "assistant"
		and ([.[].choices[]?.delta.content // ""] | add | length > 0)
		and ([.[].choices[]?.finish_reason // empty] == ["stop"])
		and .[-1].usage.total_tokens == 0'
done

ask answer "$tmp/whole.json"
check "the whole answer's header" grep -qi '^x-octap-synthetic:' \
	"$tmp/answer.head"
check_json "$tmp/answer" '.object == "chat.completion" and
	.choices[0].finish_reason == "stop" and
	.choices[0].message.role == "assistant" and
	(.choices[0].message.content | length > 0)'
check_records 4
health >"$tmp/health"
check_json "$tmp/health" '.turns == 4 and .max_turns_reached == true'
