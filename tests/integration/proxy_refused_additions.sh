#!/usr/bin/env bash
# A refusal that our additions caused does not reach the agent: the call goes
# out again without what was refused, and so do later ones of that model.
. "$(dirname "$0")/lib.sh"

mkdir "$tmp/saved"
start_upstream --stream "$wire/openai/text.plain.sse" \
	--body "$wire/openai/text.plain.json" --save-requests "$tmp/saved" \
	--refuse return_token_ids --refuse top_logprobs --refuse logprobs
start_proxy --sampling '{"temperature":0.5}'

# sent N: the members of ours in the upstream's request number N
sent()
{
	jq -c '[keys[] | select(IN("logprobs", "top_logprobs", "temperature",
		"return_token_ids", "stream_options"))]' "$tmp/saved/$1.body"
}

ask first "$tmp/stream.json"
check_status first 200
check "the agent's answer" cmp "$tmp/first" "$wire/openai/text.plain.sse"
check "refused one after the other" equals \
	"$(for n in 1 2 3 4; do sent "$n"; done)" \
	'["logprobs","return_token_ids","stream_options","temperature","top_logprobs"]
["logprobs","stream_options","temperature","top_logprobs"]
["logprobs","stream_options","temperature"]
["stream_options","temperature"]'
check_record 1 '.upstream.degraded ==
	["top_logprobs", "logprobs", "return_token_ids"] and .complete and
	.upstream.attempts == 4 and .token_status == "none" and
	.sampling.temperature.source == "injected"'

ask second "$tmp/stream.json"
check "remembered" equals "$(find "$tmp/saved" -name '*.body' | wc -l)" 5
check_record 2 '.upstream.attempts == 1 and
	(.upstream.degraded | length == 3)'

# Of another model nothing is known yet.
sed 's/fake-model/other-model/' "$tmp/stream.json" >"$tmp/other.json"
ask other "$tmp/other.json"
check_record 3 '.upstream.attempts == 4'
check_records 3

# What the agent itself did wrong it is told, in the server's words.
printf '{"error":{"message":"messages: too few.","param":"messages"}}' \
	>"$tmp/no.json"
kill_upstream
start_upstream --refuse messages --refusal "$tmp/no.json"
start_proxy --trace "$tmp/own.jsonl"
ask own "$tmp/stream.json"
check_status own 400
check "unchanged" cmp "$tmp/own" "$tmp/no.json"
check "once" upstream_saw answered 1
refute "again" upstream_saw request 2

# A server that quotes the whole request names our members, too.  That they are
# not at fault shows when it refuses the request without them.
printf '{"error":{"message":"tools: too few: %s","param":null}}' \
	"{'tools': [], 'logprobs': True, 'return_token_ids': True}" \
	>"$tmp/quoting.json"
for n in 1 2 3; do
	printf '{"status":400,"body":"%s"}\n' "$tmp/quoting.json"
done >"$tmp/script"
printf '{"stream":"%s"}\n' "$wire/vllm/text.asked.sse" >>"$tmp/script"
kill_upstream
start_upstream --script "$tmp/script"
start_proxy --trace "$tmp/quoting.jsonl"
ask quoting "$tmp/stream.json"
check_status quoting 400
check "in its words" cmp "$tmp/quoting" "$tmp/quoting.json"
ask after "$tmp/stream.json"
check_status after 200
check_json <(tail -n 1 "$tmp/quoting.jsonl") '.upstream.attempts == 1 and
	.upstream.degraded == [] and .token_status == "exact"'

# Some refuse with another status than most.
printf '{"error":{"message":"You are not allowed to request logprobs %s"}}' \
	'from this model' >"$tmp/forbidden.json"
cat >"$tmp/script" <<-END
	{"status":403,"body":"$tmp/forbidden.json"}
	{"stream":"$wire/openai/text.plain.sse"}
END
kill_upstream
start_upstream --script "$tmp/script"
start_proxy --trace "$tmp/forbidden.jsonl"
ask forbidden "$tmp/stream.json"
check_status forbidden 200
check_json "$tmp/forbidden.jsonl" '.upstream.degraded == ["logprobs"] and
	.upstream.attempts == 2'

# One that is wrong about what it was sent is not asked for ever.
printf '{"error":{"message":"logprobs is not supported with tools + stream"}}' \
	>"$tmp/wrong.json"
kill_upstream
start_upstream --status 400 --body "$tmp/wrong.json"
start_proxy --trace "$tmp/wrong.jsonl"
ask wrong "$tmp/stream.json" --max-time 10
check_status wrong 400
check "in its words" cmp "$tmp/wrong" "$tmp/wrong.json"
check_json "$tmp/wrong.jsonl" '.upstream.attempts < 4'

# llama.cpp before it is known for that: older ones refuse with a 500.
request "$with_usage,\"tools\":[{\"type\":\"function\"}]" >"$tmp/tools.json"
for code in 400 500; do
	kill_upstream
	printf '%s\n' "{\"status\":$code,\"body\":\"$tmp/wrong.json\"}" \
		"{\"stream\":\"$wire/llamacpp/tools_n_probs.asked.sse\"}" \
		>"$tmp/script"
	rm "$tmp"/saved/*
	start_upstream --script "$tmp/script" --save-requests "$tmp/saved" \
		--body "$wire/llamacpp/text.asked.json"
	start_proxy --trace "$tmp/llamacpp.$code.jsonl"
	ask tools "$tmp/tools.json"
	check "as without us" cmp "$tmp/tools" \
		"$wire/llamacpp/tools_n_probs.plain.sse"
	check_json "$tmp/saved/2.body" '.n_probs == 5 and
		(has("logprobs") or has("top_logprobs") | not)'
	check_json "$tmp/llamacpp.$code.jsonl" '.upstream.degraded ==
		["logprobs"] and (.completion_token_ids | length == 7) and
		(.per_token_logps | length == 7)'
	ask whole "$tmp/whole.json"
	check_json "$tmp/saved/3.body" '.logprobs and (has("n_probs") | not)'
done
