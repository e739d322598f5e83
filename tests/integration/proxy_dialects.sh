#!/usr/bin/env bash
# What a server is asked for goes by its dialect, which its list of models
# tells, or an option.
. "$(dirname "$0")/lib.sh"

mkdir "$tmp/saved"
request "$with_usage,\"tools\":[{\"type\":\"function\"}]" >"$tmp/tools.json"
traces=0

# asks EXPECTED OWNER FILES OPTIONS REQUEST...: what of ours the requests hold
asks()
{
	local expected=$1 owner=$2 stream=$3 body number=0
	local -a options

	read -ra options <<<"$4"
	shift 4
	start_upstream --stream "$wire/$stream.asked.sse" \
		--body "$wire/$stream.asked.json" --owned-by "$owner" \
		--save-requests "$tmp/saved"
	traces=$((traces + 1))
	start_proxy --trace "$tmp/$traces.jsonl.zst" "${options[@]}"
	((${#options[@]})) || wait_until 10 "the dialect" knows_dialect
	for body in "$@"; do
		ask answer "$tmp/$body.json"
		number=$((number + 1))
		jq -c '[to_entries[] | select(.key | IN("model", "messages",
			"stream", "stream_options", "tools") | not) |
			"\(.key)=\(.value)"] | sort | join(" ")' \
			"$tmp/saved/$number.body"
	done >"$tmp/asked"
	check "$owner ${options[*]}" equals "$(cat "$tmp/asked")" "$expected"
	kill_upstream
}

knows_dialect()
{
	[[ $(health | jq -r .dialect) != null ]]
}

everything='"logprobs=true return_token_ids=true top_logprobs=5"'
only='"logprobs=true top_logprobs=5"'
sglext='"logprobs=true return_input_ids_in_sglext=true '
sglext+='return_output_ids_in_sglext=true top_logprobs=5"'

# The record tells it even where the answer does not.
printf 'data: %s\n\n' '{"id":1,"choices":[{"delta":{"content":"a"},
	"logprobs":{"content":[{"token":"a","logprob":-1}]},
	"finish_reason":"stop"}]}' | tr -d '\n\t' >"$tmp/signless"
printf '\n\ndata: [DONE]\n\n' >>"$tmp/signless"
printf '%s\n' "{\"stream\":\"$tmp/signless\"}" '{"status":400}' >"$tmp/script"
start_upstream --script "$tmp/script" --body "$wire/openai/text.plain.json" \
	--owned-by sglang
start_proxy
wait_until 10 "the dialect" knows_dialect
ask signless "$tmp/stream.json"
ask refused "$tmp/stream.json"
check_record 1 '.upstream.dialect == "sglang" and
	.logprobs_mode == "processed" and .token_status == "logprobs_only"'
check_record 2 '.upstream.status == 400 and .upstream.dialect == "sglang"'
kill_upstream

asks "$everything"$'\n'"$everything" vllm vllm/text '' stream whole
asks "$only"$'\n'"$only" openai openai/text '' stream whole
asks "$sglext"$'\n'"$everything" sglang sglang/text '' stream whole
asks "$only"$'\n''"n_probs=5"'$'\n'"$only" llamacpp llamacpp/text '' \
	stream tools whole
asks "$only" vllm vllm/text '--dialect plain' stream
asks "$sglext" vllm sglang/text '--dialect sglang' stream
asks "$only" vllm vllm/text '--dialect vllm --token-ids off' stream
