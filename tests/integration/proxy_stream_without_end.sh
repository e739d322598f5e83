#!/usr/bin/env bash
# A stream that ends well but says no finish_reason, or one that nobody knows, or
# an answer that is no stream, gets an error event, so that no agent asks for
# ever.
. "$(dirname "$0")/lib.sh"

printf 'data: [DONE]\n\n' >"$tmp/done"
: >"$tmp/empty"
sed 's/"finish_reason":"stop"/"finish_reason":"eos"/' \
	"$wire/vllm/text.asked.sse" >"$tmp/unknown"
cat >"$tmp/script" <<-END
	{"fault":"no-finish"}
	{"stream":"$tmp/done"}
	{"stream":"$tmp/empty"}
	{"until-close":true,"fault":"cut","fault-after":700}
	{"fault":"html"}
	{"fault":"json-for-stream"}
	{"fault":"html","header":"Content-Type: text/event-stream"}
	{"stream":"$tmp/unknown"}
END
start_upstream "${answers[@]}" --script "$tmp/script"
start_proxy

# The last event but [DONE], without its "data: ".
last_event()
{
	grep -v -e '^$' -e '^data: \[DONE\]$' "$1" | tail -n 1 |
		sed 's/^data: //'
}

for turn in 1 2 3 4 5 6 7 8; do
	ask answer "$tmp/stream.json"
	check_status answer 200
	check "type" grep -qi '^content-type: text/event-stream' \
		"$tmp/answer.head"
	last_event "$tmp/answer" >"$tmp/error"
	check_error "$tmp/error"
	check_record "$turn" '.complete == false and
		(.abort_reason | length > 0)'
done
check_record 1 '.completion_tokens == ["Hello"," world","!"]'
check_record 8 '.finish_reason == "eos" and (.completion_tokens | length == 4)'
check_record 6 '.response.choices[0].message.content == "Hello world!"'

# What needs no error: the end alone is missing.
start_upstream "${answers[@]}" --fault no-done
start_proxy --trace "$tmp/other.jsonl"
ask answer "$tmp/stream.json"
check "no [DONE] is made up" cmp "$tmp/answer" \
	<(sed '/^data: \[DONE\]$/,$d' "$wire/vllm/text.plain.sse")
check_json "$tmp/other.jsonl" '.complete and .delivered'
