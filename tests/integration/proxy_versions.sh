#!/usr/bin/env bash
# What tells the versions of the server and the model is recorded as it came, and
# what the operator knows of the log-probabilities.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}" --header 'Server: uvicorn' \
	--header 'x-vllm-version: 0.11 "r1"' --header 'OpenAI-Version: 2020-10-01' \
	--header 'x-weight-version: step-7' --header 'x-request-id: 1'
start_proxy --logprobs-mode processed
ask stream "$tmp/stream.json"
ask whole "$tmp/whole.json"
for record in 1 2; do
	check_record "$record" '.logprobs_mode == "processed" and
		.upstream.system_fingerprint == "vllm-0.33.0-1f0e9c4b" and
		.upstream.model == "qwen3-8b" and .upstream.headers == {
		"server": "uvicorn", "x-vllm-version": "0.11 \"r1\"",
		"openai-version": "2020-10-01",
		"x-weight-version": "step-7"}'
done
check "the agent has them too" grep -qi '^x-weight-version: step-7' \
	"$tmp/stream.head"
kill_upstream

start_upstream --stream "$wire/llamacpp/text.asked.sse"
start_proxy --trace "$tmp/plain.jsonl"
ask stream "$tmp/stream.json"
check_json "$tmp/plain.jsonl" '.logprobs_mode == "raw" and
	.upstream.headers == null and .upstream.system_fingerprint != null'
