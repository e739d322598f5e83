#!/usr/bin/env bash
# A limit of tokens that only the proxy set is taken back when a model refuses
# it: the other name is tried, then none.
. "$(dirname "$0")/lib.sh"

mkdir "$tmp/saved"
request "$with_usage,\"max_tokens\":9" >"$tmp/limited.json"

# said FILE MESSAGE PARAM
said()
{
	jq -n --arg message "$2" --arg param "$3" '{error: {message: $message,
		type: "invalid_request_error", param: $param}}' >"$tmp/$1"
}

# sent N: the limits in the upstream's request number N
sent()
{
	jq -c 'with_entries(select(.key | startswith("max_")))' \
		"$tmp/saved/$1.body"
}

said old "Unsupported parameter: 'max_tokens' is not supported with this
	model. Use 'max_completion_tokens' instead." max_tokens
start_upstream "${answers[@]}" --refuse max_tokens --refusal "$tmp/old" \
	--save-requests "$tmp/saved"
start_proxy --max-tokens-cap 100
ask old "$tmp/stream.json"
check_status old 200
check_record 1 '.upstream.degraded == ["max_tokens"] and
	.upstream.attempts == 2 and .sampling.max_tokens ==
	{"value": 100, "source": "injected"} and .token_status == "exact"'
ask again "$tmp/stream.json"
ask limited "$tmp/limited.json"
check_status limited 200
check "remembered" equals "$(for n in 1 2 3 4; do sent "$n"; done)" \
	'{"max_tokens":100}
{"max_completion_tokens":100}
{"max_completion_tokens":100}
{"max_completion_tokens":9}'
kill_upstream

start_upstream "${answers[@]}" --refuse max_tokens \
	--refuse max_completion_tokens --save-requests "$tmp/saved"
start_proxy --max-tokens-cap 100 --trace "$tmp/neither.jsonl"
ask neither "$tmp/stream.json"
check_status neither 200
check_json "$tmp/neither.jsonl" '.upstream.degraded ==
	["max_tokens", "max_completion_tokens"] and
	.sampling.max_tokens == {"value": null, "source": "server"}'
check "in the end none" equals "$(sent 3)" '{}'

# The agent's own limit, refused, is its own affair.
ask limited "$tmp/limited.json"
check_status limited 400
kill_upstream

# A name that we gave the agent's limit is taken back as well.
sed 's/fake-model/o3-of-ours/' "$tmp/limited.json" >"$tmp/renamed.json"
start_upstream "${answers[@]}" --refuse max_completion_tokens \
	--save-requests "$tmp/saved"
start_proxy --trace "$tmp/renamed.jsonl"
ask renamed "$tmp/renamed.json"
check_status renamed 200
check "its own name" equals "$(sent 2)" '{"max_tokens":9}'
kill_upstream

# A prompt that leaves no room for so many: the next one may be shorter.
said full "'max_tokens' or 'max_completion_tokens' is too large: 100. This
	model's maximum context length is 8192 tokens." null
printf '%s\n' "{\"status\":400,\"body\":\"$tmp/full\"}" \
	"{\"status\":400,\"body\":\"$tmp/full\"}" '{}' >"$tmp/script"
start_upstream "${answers[@]}" --script "$tmp/script" \
	--save-requests "$tmp/saved"
start_proxy --max-tokens-cap 100 --trace "$tmp/full.jsonl"
ask full "$tmp/stream.json"
check_status full 200
check "without" equals "$(sent 3)" '{}'
ask next "$tmp/stream.json"
check "capped again" equals "$(sent 4)" '{"max_tokens":100}'
check_json <(tail -n 1 "$tmp/full.jsonl") '.upstream.degraded == []'
