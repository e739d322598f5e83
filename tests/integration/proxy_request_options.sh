#!/usr/bin/env bash
# Each option about requests, as the upstream sees it.
. "$(dirname "$0")/lib.sh"

mkdir "$tmp/saved"
start_upstream "${answers[@]}" --save-requests "$tmp/saved"
number=0

# sends MEMBERS JQ-FILTER: through the proxy that runs
sends()
{
	number=$((number + 1))
	request "$1" >"$tmp/body"
	ask answer "$tmp/body"
	check_status answer 200
	check_json "$tmp/saved/$number.body" "$2"
}

# proxy OPTION...: the next proxy
proxy()
{
	start_proxy --trace "$tmp/trace.$((proxies + 1)).jsonl" "$@"
}

record_says()
{
	check_json "$tmp/trace.$proxies.jsonl" "$1"
}

proxy
sends '' '.logprobs == true and .top_logprobs == 5 and .return_token_ids == true
	and (has("stream_options") | not) and (has("max_tokens") | not)'
sends '"logprobs":false,"top_logprobs":null' '.logprobs and .top_logprobs == 5'
sends '"top_logprobs":2' '.logprobs and .top_logprobs == 2'
sends '"logprobs":true' '.logprobs and (has("top_logprobs") | not)'
sends '"stream":true' '.stream_options == {"include_usage":true}'
sends '"stream":true,"stream_options":null' \
	'.stream_options == {"include_usage":true}'
sends '"stream":true,"stream_options":{"include_usage":false,"x":1}' \
	'.stream_options == {"include_usage":true,"x":1}'
sends '"stream":true,"stream_options":{ }' \
	'.stream_options == {"include_usage":true}'
sends '"model":"gpt-5-mini","max_tokens":7' \
	'.max_completion_tokens == 7 and (has("max_tokens") | not)'

proxy --top-logprobs 0
sends '' '.logprobs == true and .top_logprobs == 0'
proxy --token-ids off
sends '' 'has("return_token_ids") | not'
proxy --token-ids on
sends '' '.return_token_ids == true'

proxy --max-tokens-cap 100
sends '"max_tokens":4096' '.max_tokens == 100'
record_says '.sampling.max_tokens == {"value":100,"source":"injected"}'
sends '"max_tokens":64' '.max_tokens == 64'
sends '' '.max_tokens == 100'
sends '"max_completion_tokens":4096' \
	'.max_completion_tokens == 100 and (has("max_tokens") | not)'
sends '"max_completion_tokens":64' \
	'.max_completion_tokens == 64 and (has("max_tokens") | not)'
sends '"max_tokens":"99999"' '.max_tokens == 100'
sends '"max_tokens":null' '.max_tokens == 100'
sends '"model":"gpt-5","max_tokens":4096' \
	'.max_completion_tokens == 100 and (has("max_tokens") | not)'
sends '"model":"gpt-5"' \
	'.max_completion_tokens == 100 and (has("max_tokens") | not)'

proxy --disable-thinking
sends '' '.chat_template_kwargs == {"enable_thinking":false}'
sends '"chat_template_kwargs":{"enable_thinking":true,"x":[1]}' \
	'.chat_template_kwargs == {"enable_thinking":false,"x":[1]}'

proxy --model-override 'org/some "model"'
sends '' '.model == "org/some \"model\""'
record_says '.request.model == "org/some \"model\""'

proxy --sampling '{"temperature":1.0,"top_p":0.95,"top_k":20,"seed":7}'
sends '"temperature":0.2,"min_p":0.1' '.temperature == 1 and .top_p == 0.95 and
	.top_k == 20 and .seed == 7 and .min_p == 0.1'
check "numbers go as they were given" \
	grep -qF '"temperature":1.0,' "$tmp/saved/$number.body"
record_says '.sampling | .temperature == {"value":1,"source":"injected"} and
	.min_p == {"value":0.1,"source":"requested"} and
	.repetition_penalty == {"value":null,"source":"server"}'

# The fake stands in for a host that takes no members it does not know.
http_proxy=$UPSTREAM proxy --upstream-url http://api.openai.com
sends '' '.logprobs == true and (has("return_token_ids") | not)'
http_proxy=$UPSTREAM proxy --upstream-url http://api.openai.com --token-ids on
sends '' '.return_token_ids == true'
