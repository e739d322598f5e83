#!/usr/bin/env bash
# A server that passes over what it is asked for without a word is counted.
. "$(dirname "$0")/lib.sh"

start_upstream --stream "$wire/openai/text.plain.sse" \
	--body "$wire/openai/text.plain.json"
start_proxy
ask stream "$tmp/stream.json"
ask whole "$tmp/whole.json"
check_json <(health) '.without_logprobs == 2'
check_record 1 '.token_status == "none" and .upstream.degraded == []'
# Whoever asked for them.
request "$with_usage,\"logprobs\":true" >"$tmp/own.json"
ask own "$tmp/own.json"
check_json <(health) '.without_logprobs == 3'
kill_upstream

start_upstream "${answers[@]}"
start_proxy --trace "$tmp/second.jsonl.zst"
ask stream "$tmp/stream.json"
check_json <(health) '.without_logprobs == 0'
