#!/usr/bin/env bash
# What octap is told about the model's calls arrives there, in both modes.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

mkdir "$tmp/saved"
start_upstream "${answers[@]}" --save-requests "$tmp/saved"
requests=0
task '{"tools":["bash","read"],"system_prompt":"Be brief."}' <<<'@call'

# asks NAME OPTION... -- JQ-FILTER of the request
asks()
{
	local options=()

	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	rollout "${options[@]}"
	requests=$((requests + 1))
	check_result '.outcome == "completed"'
	check_jq "$tmp/saved/$requests.body" "$2"
}

told=(--max-tokens-cap 77 --disable-thinking
	--sampling '{"temperature":0.25,"top_p":0.5,"top_k":7,"seed":11}'
	--model other/model-9)
as_told='.max_tokens == 77 and .temperature == 0.25 and .top_p == 0.5 and
	.top_k == 7 and .seed == 11 and .model == "other/model-9" and
	.chat_template_kwargs == {"enable_thinking": false}'
asks told "${told[@]}" --top-logprobs 3 -- "$as_told and .logprobs == true and
	.top_logprobs == 3 and .return_token_ids == true"
check_result '.model == "other/model-9"'
asks told_black_box --mode black_box "${told[@]}" -- "$as_told and
	(has(\"logprobs\") or has(\"return_token_ids\") | not)"

untold='(has("temperature") or has("top_k") or has("chat_template_kwargs") |
	not) and .max_tokens == 32000 and .model == "fake-model" and
	.messages[0] == {"role": "system", "content": "Be brief."} and
	[.tools[].function.name] == ["bash", "read"]'
asks untold -- "$untold and .top_logprobs == 5"
asks untold_black_box --mode black_box -- "$untold"
asks zero --top-logprobs 0 -- '.logprobs == true and .top_logprobs == 0'

# --auto is what octap says unless told otherwise.
task <<<'@sh tr "\0" " " <"/proc/$PPID/cmdline"
@call'
for option in --auto --no-auto; do
	rollout "$option" "$option"
	agent_output >"$tmp/words"
	case $option in
	--auto) check "said" has_line "$tmp/words" ' --auto' ;;
	--no-auto) refute "said" has_line "$tmp/words" ' --auto' ;;
	esac
done
