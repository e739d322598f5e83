#!/usr/bin/env bash
# octap replay streams as recorded: the same chunks, at the pace that is asked
# for; and whole answers to those who want no stream.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream --stream "$wire/vllm/multi.asked.sse"
start_proxy
tools='"tools":[{"type":"function","function":{"name":"bash"}}]'
request "$with_usage,$tools" >"$tmp/stream.json"
request "$tools" >"$tmp/whole.json"
for i in 1 2 3 4 5; do
	ask "direct.$i" "$tmp/stream.json"
done
stop_proxy

# What the chunks of a stream hold.
chunks()
{
	sed -n 's/^data: {/{/p' "$1" | jq -c '.choices[]? | '"$2"
}

# Of the first turn.
recorded()
{
	trace | sed -n 1p | jq -c "$1"
}

start_replay "$TRACE"
ask replayed "$tmp/stream.json"
check "type" grep -qi '^content-type: text/event-stream' "$tmp/replayed.head"
check "the same text" equals "$(chunks "$tmp/replayed" .delta.content |
	jq -j '. // empty')" "$(recorded .response.choices[0].message.content |
	jq -r .)"
check "it ends" equals "$(grep . "$tmp/replayed" | tail -n 1)" 'data: [DONE]'
check "usage" equals "$(sed -n 's/^data: {/{/p' "$tmp/replayed" |
	jq -c 'select(.usage).usage.completion_tokens')" \
	"$(recorded .usage.completion_tokens)"

ask whole "$tmp/whole.json"
check_json "$tmp/whole" ".object == \"chat.completion\" and
	.choices[0].message.content ==
	$(recorded .response.choices[0].message.content) and
	.choices[0].finish_reason == \"stop\" and (has(\"logprobs\") | not)"

# Asked for tokens, it has them, in as many chunks as they came.
request "$with_usage,$tools,\"logprobs\":true,\"return_token_ids\":true" \
	>"$tmp/asked.json"
ask asked "$tmp/asked.json"
check "chunks" equals \
	"$(chunks "$tmp/asked" 'select(.token_ids).token_ids | length' |
		grep -vx 0 | tr '\n' ' ')" "$(recorded '.chunk_tokens[]' | tr '\n' ' ')"
check "token ids" equals "$(chunks "$tmp/asked" '.token_ids[]?' | tr '\n' ' ')" \
	"$(recorded '.completion_token_ids[]' | tr '\n' ' ')"
check "log-probabilities" cmp \
	<(chunks "$tmp/asked" '.logprobs.content[]?') <(recorded '.logprobs[]')
kill -TERM "$REPLAY_PID"
end_of "$REPLAY_PID" 10
check "it ends well" equals "$status" 0

# A pause for each token.
tokens=$(recorded '.completion_token_ids | length')
start_replay "$TRACE" --token-interval 0.05
begin=${EPOCHREALTIME/./}
ask paced "$tmp/stream.json"
took=$(((${EPOCHREALTIME/./} - begin) / 1000))
check "$tokens tokens took $took ms" \
	test "$took" -ge $((tokens * 50 - 60)) -a "$took" -lt $((tokens * 50 + 2000))
check "the same, only slower" cmp <(chunks "$tmp/paced" .) \
	<(chunks "$tmp/replayed" .)

# Who hangs up in the middle disturbs nobody.
timeout 0.1 curl -sS -N -o /dev/null -H 'Content-Type: application/json' \
	--data-binary "@$tmp/stream.json" "$URL/v1/chat/completions" || true
ask after "$tmp/stream.json"
check_status after 200
