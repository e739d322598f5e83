#!/usr/bin/env bash
# What is recorded of a real llama.cpp server, with a model of random weights, is
# what that model says: ids and log-probabilities, computed again without it.
. "$(dirname "$0")/../integration/lib.sh"

llama=$PWD/build/ecosystem/llama
server=$llama/build/bin/llama-server
[[ -x $server ]] || {
	echo "tests/ecosystem/prepare_llamacpp.sh has not built llama-server"
	exit 77
}

# Full precision: only then can a difference be told from rounding.
"$server" -m "$llama/model.gguf" --host 127.0.0.1 --port 0 --jinja -np 2 -t 1 \
	-c 8192 -ctk f32 -ctv f32 -fa off --no-warmup --alias tiny \
	>"$tmp/llama.1.out" 2>"$tmp/llama.1.err" &
running[$!]=llama
wait_until 60 "llama-server to listen" \
	grep -q 'listening on http' "$tmp/llama.1.err"
UPSTREAM=$(sed -n 's/.*listening on \(http:[^ ]*\).*/\1/p' "$tmp/llama.1.err")
wait_until 60 "the model" curl -sf -o "$tmp/health" "$UPSTREAM/health"
start_proxy --dialect auto

tools='"tools":[{"type":"function","function":{"name":"read","description":
	"Read a file.","parameters":{"type":"object","properties":{"path":
	{"type":"string","enum":["a.txt","b.txt"]}},"required":["path"]}}}]'
# This model does not know what tools are for: it is pushed into a call and out
# of it again, and within it the server's grammar leads.
calls="$tools,\"tool_choice\":\"required\",\"max_tokens\":400"
calls+=',"presence_penalty":25,"repeat_last_n":1'
# "<tool_call>", a line feed, "<|im_end|>"
calls+=',"logit_bias":{"4099":40,"198":30,"4098":60}'

# call NAME MEMBERS: and remember the prompt, as the server makes it
turns=0
call()
{
	turns=$((turns + 1))
	printf '{"model":"tiny","seed":%d,%s,"messages":[{"role":"system",%s},%s]}' \
		"$turns" "$2" '"content":"You are a tiny model."' \
		"{\"role\":\"user\",\"content\":\"Say $turns things, für mich!\"}" \
		>"$tmp/$1.json"
	curl -sSf --data-binary "@$tmp/$1.json" "$UPSTREAM/apply-template" |
		jq '{content: .prompt, add_special: true, parse_special: true}' |
		curl -sSf --data-binary @- "$UPSTREAM/tokenize" |
		jq -c .tokens >>"$tmp/prompts"
	ask "$1" "$tmp/$1.json"
	check_status "$1" 200
}

call whole '"max_tokens":200,"temperature":0.4'
call stream '"stream":true,"max_tokens":200,"temperature":1.5,"top_k":0'
call usage "$with_usage,\"max_tokens\":60,\"temperature\":0"
call two "$with_usage,\"n\":2,\"max_tokens\":40,\"temperature\":1"
call two_whole '"n":2,"max_tokens":40,"temperature":1'
call tools_whole "$calls"
call tools_text "$with_usage,$tools,\"tool_choice\":\"none\",\"max_tokens\":50"
call tools_unused "\"stream\":true,$tools,\"max_tokens\":50"
known=$turns

# The server has no log-probabilities for tokens whose text it kept back: those of
# a tool call's frame in a stream, and parts of characters.
call tools "\"stream\":true,$calls"
call broken '"max_tokens":40,"logit_bias":{"137":28}'
check_records "$turns"
stop_proxy

# Of two choices the server's usage counts one, which does not confirm them.
check "token_status" equals "$(trace | jq -r .token_status | tr '\n' ' ')" \
	"exact exact exact mismatch mismatch exact exact exact mismatch mismatch "
for ((turn = 1; turn <= turns; turn++)); do
	check_record "$turn" '.complete and .delivered and
		.upstream.dialect == "llamacpp" and .upstream.model == "tiny" and
		.upstream.degraded == [] and .logprobs_mode == "raw" and
		(.completion_token_ids | length > 1) and
		.completion_token_ids == [.logprobs[].id] and
		.per_token_logps == [.logprobs[].logprob]'
done
for turn in 4 5; do
	check_record "$turn" '[.response.choices[].index] | sort == [0, 1]'
done
for turn in 6 9; do
	check_record "$turn" '.finish_reason == "tool_calls" and
		.response.choices[0].message.tool_calls[0].function.name ==
			"read"'
done
for ((turn = known + 1; turn <= turns; turn++)); do
	check_record "$turn" '(.completion_token_ids | length) <
		.usage.completion_tokens'
done
refute "the agent sees log-probabilities" grep -l '"logprob"' "$tmp/whole" \
	"$tmp/stream" "$tmp/usage" "$tmp/two" "$tmp/two_whole" "$tmp/tools" \
	"$tmp/tools_whole" "$tmp/tools_text" "$tmp/tools_unused"

# recomputed TRACE-FILE
recomputed()
{
	build/ecosystem/venv/bin/python tests/ecosystem/recompute.py \
		"$llama/vocabulary.json" "$tmp/prompts" "$1"
}

trace | sed -n "1,${known}p" >"$tmp/trace.jsonl"
recomputed "$tmp/trace.jsonl" || fail "the trace is not what the model says"

# The comparison can fail: one id, one log-probability, one character changed.
for change in '.completion_token_ids[7] += 1' '.per_token_logps[7] -= 0.002' \
	'.response.choices[0].message.content += "."'; do
	jq -c "select(.turn == 1) | $change" "$tmp/trace.jsonl" \
		>"$tmp/changed.jsonl"
	refute "seen: $change" recomputed "$tmp/changed.jsonl"
done
