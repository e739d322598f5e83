#!/usr/bin/env bash
# A stream that breaks inside an event breaks for the agent, too; what came is
# recorded.
. "$(dirname "$0")/lib.sh"

stream=$wire/vllm/text.asked.sse
# Up to here two tokens have come as a whole and half of a third.
cut=$(($(grep -abo '"!"' "$stream" | head -n 1 | cut -d: -f1) + 20))
cat >"$tmp/script" <<-END
	{"fault":"cut","fault-after":$cut}
	{"fault":"rst","fault-after":$cut}
	{"fault":"cut","fault-after":$cut,"chunk":"1"}
	{"fault":"cut","fault-after":$cut,"content-length":true}
	{"fault":"cut","fault-after":0}
END
start_upstream "${answers[@]}" --script "$tmp/script"
start_proxy

# The two events that were whole, as the agent may have them.
awk -v RS='\n\n' -v ORS='\n\n' 'NR <= 3' "$wire/vllm/text.plain.sse" \
	>"$tmp/expected"
for turn in 1 2 3 4; do
	status=0
	ask answer "$tmp/stream.json" || status=$?
	check "broken off ($status)" test "$status" = 18 -o "$status" = 56
	check "whole events only" cmp "$tmp/answer" "$tmp/expected"
	check_record "$turn" '.complete == false and .delivered == false and
		.completion_tokens == ["Hello"," world"] and
		(.completion_token_ids | length == 2) and
		(.per_token_logps | length == 2) and
		.response.choices[0].message.content == "Hello world" and
		.finish_reason == null and (.abort_reason | length > 0) and
		.side_effects == null'
done
status=0
ask answer "$tmp/stream.json" || status=$?
check "broken off at once" equals "$status" 18
ask answer "$tmp/stream.json" --http1.0 2>/dev/null && fail "a good end"
check_record 5 '.complete == false and .completion_tokens == []'
