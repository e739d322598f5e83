#!/usr/bin/env bash
# SGLang: token ids come in an event of their own, which the agent never sees;
# from an older server, which has none, in a whole answer that becomes a stream.
. "$(dirname "$0")/lib.sh"

asked=$wire/sglang/sglext_usage_ours
request '"stream":true,"n":2' >"$tmp/two.json"
mkdir "$tmp/saved"
printf '%s\n' "{\"stream\":\"$asked.asked.sse\"}" \
	"{\"stream\":\"$wire/sglang/text.asked.sse\"}" \
	"{\"body\":\"$wire/sglang/tools.asked.json\"}" >"$tmp/script"
start_upstream --script "$tmp/script" --save-requests "$tmp/saved"
start_proxy --dialect sglang

ask two "$tmp/two.json"
check "as without us" cmp "$tmp/two" "$asked.plain.sse"
check_record 1 '(.prompt_token_ids | length == 9) and
	.completion_token_ids == [72214, 52834, 151645]'

# This answer had none (nor does SGLang tell the last token's log-probability,
# which is why the numbers do not agree), so the next is asked for as a whole.
ask none "$tmp/stream.json"
check_record 2 '.completion_token_ids == [] and
	.token_status == "mismatch"'
ask made "$tmp/stream.json"
check_json "$tmp/saved/3.body" '.stream == false and
	.stream_options == null and .return_token_ids'
check "type" grep -qi '^content-type: text/event-stream' "$tmp/made.head"
check "marked" grep -qi '^x-octap-synthetic: stream' "$tmp/made.head"
check_record 3 '.upstream.synthetic_stream and .complete and
	(.completion_token_ids | length > 0)'

# Put together again the stream is the answer.
sed -n 's/^data: {/{/p' "$tmp/made" | jq -cs '{
	content: ([.[].choices[]?.delta.content // ""] | add),
	calls: [.[].choices[]?.delta.tool_calls[]? | {id, type, function}],
	finish: ([.[].choices[]?.finish_reason | values] | last),
	usage: (map(.usage | values) | last),
	tokens: [.[].choices[]? | .logprobs, .token_ids | values]
	}' >"$tmp/again"
jq -c '{content: (.choices[0].message.content // ""),
	calls: [.choices[0].message.tool_calls[]? | {id, type, function}],
	finish: .choices[0].finish_reason, usage, tokens: []}' \
	"$wire/sglang/tools.asked.json" >"$tmp/whole"
check "the same answer" cmp "$tmp/again" "$tmp/whole"
check "calls are numbered" equals "$(sed -n 's/^data: {/{/p' "$tmp/made" |
	jq -c '.choices[]?.delta.tool_calls[]?.index' | sort -u | head -n 1)" 0
check "its end" equals "$(grep . "$tmp/made" | tail -n 1)" 'data: [DONE]'
kill_upstream

# A server that refuses both ways, one after the other, and is not known.
printf '{"object":"error","message":"return_token_ids is not supported %s"}' \
	'with streaming on /v1/chat/completions.' >"$tmp/no_ids"
printf '{"object":"error","message":"%s"}' \
	"[{'loc': ('body', 'return_input_ids_in_sglext')}]" >"$tmp/no_sglext"
cat >"$tmp/script" <<-END
	{"status":400,"body":"$tmp/no_ids"}
	{"status":422,"body":"$tmp/no_sglext"}
	{"body":"$wire/sglang/text.asked.json"}
END
rm "$tmp"/saved/*
start_upstream --script "$tmp/script" --save-requests "$tmp/saved"
start_proxy --trace "$tmp/older.jsonl"
request '"stream":true' >"$tmp/no_usage.json"
for name in older again; do
	ask "$name" "$tmp/no_usage.json"
	check_status "$name" 200
	check "marked" grep -qi '^x-octap-synthetic: stream' "$tmp/$name.head"
	refute "no usage that was not asked for" has_line "$tmp/$name" usage
done
check "remembered" equals "$(jq -c .stream "$tmp"/saved/[1-4].body | xargs)" \
	'true true false false'
check_json "$tmp/older.jsonl" '.upstream.synthetic_stream and .complete and
	.upstream.degraded ==
	["return_token_ids", "return_output_ids_in_sglext"] and
	.token_status == "exact" and .request.stream == false'
