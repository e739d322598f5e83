#!/usr/bin/env bash
# A stream through the proxy is what the server sends unasked, byte for byte,
# however it is cut: every recorded pair of answers.
. "$(dirname "$0")/lib.sh"

exempt()
{
	# See tests/unit/test_answer.c for why.
	[[ $1 == *parallel_off_empty* ]] || grep -q '"sglext"' "$1"
}

# What an agent sends that gets this plain answer.
agent_request()
{
	local members='"stream":true'

	! grep -q '"usage":{' "$2" || members=$with_usage
	[[ $1 != *agent_logprobs* ]] || members+=',"logprobs":true'
	request "$members"
}

# A stream that the server broke off is ended by an error event of the proxy.
without_our_error()
{
	sed '/^data: {"error":{"message":"The model.s answer has no/,+1d' "$1"
}

pairs=()
for asked in "$wire"/*/*.asked.sse; do
	exempt "$asked" || pairs+=("${asked%.asked.sse}")
done
check "there are pairs" test "${#pairs[@]}" -gt 30

cuts=(65536 1 random:1 random:2)
calls=0
for cut in "${cuts[@]}"; do
	for pair in "${pairs[@]}"; do
		calls=$((calls + 1))
		printf '{"stream":"%s","chunk":"%s"}\n' "$pair.asked.sse" \
			"$cut" >>"$tmp/script"
		agent_request "$pair" "$pair.plain.sse" >"$tmp/$calls.json"
		printf '%s\n' next 'url = "URL"' 'silent' 'show-error' \
			"data-binary = \"@$tmp/$calls.json\"" \
			"output = \"$tmp/$calls.sse\"" >>"$tmp/curl"
	done
done

start_upstream --script "$tmp/script"
start_proxy
sed -i "1d;s,URL,$URL/v1/chat/completions," "$tmp/curl"
check "all calls answered" curl --max-time 60 -K "$tmp/curl"

for ((call = 1; call <= calls; call++)); do
	pair=${pairs[(call - 1) % ${#pairs[@]}]}
	without_our_error "$tmp/$call.sse" >"$tmp/got"
	check "$pair, cut ${cuts[(call - 1) / ${#pairs[@]}]}" \
		cmp "$tmp/got" "$pair.plain.sse"
done
check_records "$calls"
