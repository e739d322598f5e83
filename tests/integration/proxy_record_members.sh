#!/usr/bin/env bash
# Every record, however its call ended, is one line of JSON with all members of
# octap.turn/1.
. "$(dirname "$0")/lib.sh"

cat >"$tmp/script" <<-END
	{}
	{"stream":"$wire/vllm/tools.asked.sse"}
	{"stream":"$wire/vllm/two_usage_ours.asked.sse"}
	{"stream":"$wire/sglang/tricky.asked.sse"}
	{"stream":"$wire/llamacpp/tools_n_probs.asked.sse"}
	{"stream":"$wire/openai/tricky.asked.sse"}
	{"status":429}
	{"fault":"cut","fault-after":900}
	{"fault":"close-before-head"}
	{"fault":"html"}
	{}
END
start_upstream "${answers[@]}" --script "$tmp/script"
start_proxy --rollout-id 'r"1'
for _ in {1..10}; do
	ask answer "$tmp/stream.json" -H 'x-session-id: ses_1' 2>/dev/null ||
		true
done
ask answer "$tmp/whole.json"
printf '[]' >"$tmp/bad"
ask answer "$tmp/bad"
check_records 12

cat >"$tmp/members" <<'END'
def text: type == "string";
def count: type == "number" and . == floor and . >= 0;
def or_null(f): . == null or f;
def list(f): type == "array" and all(.[]; f);
.schema == "octap.turn/1"
and (.turn | count and . > 0)
and (.kind | IN("agent", "title", "compaction", "subagent", "other"))
and .rollout_id == "r\"1"
and (.session_id | or_null(text))
and (.parent_session_id | or_null(text))
and has("request") and (.response.choices | type == "array")
and has("finish_reason") and (.finish_reason | or_null(text))
and has("logprobs") and (.logprobs | or_null(list(has("token"))))
and (.completion_tokens | list(text))
and (.completion_token_ids | list(count))
and (.per_token_logps | list(type == "number"))
and has("prompt_token_ids") and (.prompt_token_ids | or_null(list(count)))
and (.chunk_tokens | list(count))
and (.chunk_ms | list(count))
and (.chunk_ms | length) == (.chunk_tokens | length)
and (.token_status | IN("exact", "unconfirmed", "logprobs_only", "ids_only",
	"none", "mismatch"))
and has("usage") and has("sampling")
and (.upstream | has("status") and has("dialect") and has("model")
	and has("system_fingerprint") and (.attempts | count)
	and (.degraded | list(text)))
and (.timestamp > 1.7e9) and (.latency_s >= 0)
and has("ttft_s") and (.ttft_s | or_null(type == "number"))
and (.complete | type == "boolean") and (.delivered | type == "boolean")
and has("abort_reason") and (.complete == (.abort_reason == null))
and has("side_effects")
END
for ((turn = 1; turn <= 12; turn++)); do
	check_record "$turn" "$(cat "$tmp/members")"
done

# A server's broken bytes do not break the file.
printf 'data: {"choices":[{"index":0,"delta":{"content":"\xff\xe2\x82"},%s' \
	'"finish_reason":"stop"}]}' >"$tmp/broken"
printf '\n\ndata: [DONE]\n\n' >>"$tmp/broken"
start_upstream --stream "$tmp/broken"
start_proxy --trace "$tmp/broken.jsonl" --rollout-id 'r"1'
ask answer "$tmp/stream.json"
check "the agent gets what came" cmp "$tmp/answer" "$tmp/broken"
check "the record is UTF-8" iconv -f UTF-8 -t UTF-8 -o /dev/null \
	"$tmp/broken.jsonl"
check_json "$tmp/broken.jsonl" "$(cat "$tmp/members")"' and .complete'

check_record 1 '.token_status == "exact" and .upstream.dialect == "vllm" and
	.completion_tokens == ["Hello"," world","!","<|im_end|>"] and
	.completion_token_ids == [124834,97963,118227,.completion_token_ids[3]]
	and .finish_reason == "stop" and .usage.completion_tokens == 4 and
	.session_id == "ses_1" and (.chunk_tokens | add) == 4 and
	(.prompt_token_ids | length) == 9 and .ttft_s != null and
	.upstream.model == "qwen3-8b"'
check "log-probabilities as received" grep -qF \
	'"per_token_logps":[-0.18897899985313416,-1.1920928955078125e-7' \
	"$tmp/record.1"
check_record 2 '.finish_reason == "tool_calls" and
	.response.choices[0].message.tool_calls[0].function.name == "read" and
	(.response.choices[0].message.tool_calls[0].function.arguments |
		fromjson == {"path":"a/b.c"})'
check_record 3 '(.response.choices | length) == 2'
check_record 11 '.token_status == "exact" and .chunk_tokens == [] and
	.response.choices[0].message.content == "Hello world!"'
