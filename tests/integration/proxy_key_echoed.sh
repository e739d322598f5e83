#!/usr/bin/env bash
# An upstream that quotes the key does not give it to the agent, nor to the
# trace, whatever way it quotes it; the rest of its words pass.
. "$(dirname "$0")/lib.sh"

key=sk-secret-0123456789
masked='********************'
printf '%s' "$key" >"$tmp/key"
printf '{"error":{"message":"Incorrect API key %s: see %s"}}' "$key" "$key" \
	>"$tmp/error"
printf 'data: %s\n\ndata: [DONE]\n\n' "$(cat "$tmp/error")" >"$tmp/error.sse"

# quoted NAME FILE UPSTREAM-OPTION...: $tmp/NAME is FILE with the key masked
quoted()
{
	local name=$1 file=$2

	shift 2
	start_upstream --header "X-Echo: Bearer $key" "$@"
	start_proxy --upstream-api-key-file "$tmp/key" --dialect vllm
	for body in whole stream; do
		ask "$name.$body" "$tmp/$body.json"
		check "$name: the key is masked" equals \
			"$(cat "$tmp/$name.$body")" \
			"$(sed "s/$key/$masked/g" "$file")"
		check "$name: in the header, too" \
			grep -qiF "x-echo: Bearer $masked" "$tmp/$name.$body.head"
	done
	stop_proxy
	kill_upstream
}

quoted refusal "$tmp/error" --status 401 --body "$tmp/error" \
	--stream "$tmp/error"
quoted event "$tmp/error.sse" --stream "$tmp/error.sse" \
	--body "$tmp/error.sse" --header 'Content-Type: text/event-stream'

start_upstream --body "$tmp/error"
start_proxy --upstream-api-key-file "$tmp/key" --dialect vllm
ask whole "$tmp/whole.json"
refute "in an answer of status 200" grep -F "$key" "$tmp/whole"

# What is not recorded: asked with another key, the server says which.
printf 'sk-another-key-of-ours' >"$tmp/other"
kill_upstream
start_upstream --require-key "$tmp/other"
start_proxy --upstream-api-key-file "$tmp/key" --dialect vllm \
	--trace "$tmp/second.jsonl"
curl -sS "$URL/v1/models" >"$tmp/models"
check_json "$tmp/models" '.error.message'
refute "in an unrecorded answer" grep -F "$key" "$tmp/models"

check_records 5
refute "the key in the trace" grep -F "$key" <(trace)
