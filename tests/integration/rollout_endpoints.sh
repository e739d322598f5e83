#!/usr/bin/env bash
# Where the model is, from options, environment and defaults, in this order.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

mkdir "$tmp/saved"
start_upstream "${answers[@]}" --save-requests "$tmp/saved"
requests=0
own_model=yes
nothing_set=()
for kind in VLLM OPENAI HF_ROUTER; do
	nothing_set+=(-u "${kind}_URL" -u "${kind}_BASE_URL"
		-u "${kind}_API_KEY" -u "${kind}_MODEL")
done
task <<<'@call'

# given NAME=VALUE...: the environment that is told of
given()
{
	octap_env=("${nothing_set[@]}" "$@")
}

# reaches NAME KEY FILTER-OF-REQUEST OPTION...
reaches()
{
	local wanted_key=$2 filter=$3

	rollout "$1" "${@:4}"
	requests=$((requests + 1))
	check_result '.outcome == "completed"'
	check "$name: key" has_line "$tmp/saved/$requests.head" \
		"Authorization: Bearer $wanted_key"
	check_jq "$tmp/saved/$requests.body" "$filter"
}

# refused TEXT OPTION...
refused()
{
	local text=$1

	shift
	begin_rollout refused "$@"
	end_of "$octap" 20
	check "exit code ($text)" equals "$status" 2
	check "it says: $text" has_line "$tmp/refused.stderr" "$text"
	refute "a folder" test -e "$out"
}

qwen='.model == "Qwen/Qwen3.5-4B" and .return_token_ids == true and
	.chat_template_kwargs.enable_thinking == false'
given VLLM_URL="$UPSTREAM"
reaches vllm intercepted "$qwen"
check_result '.endpoint == "vllm" and .model == "Qwen/Qwen3.5-4B"'
reaches vllm_named intercepted "$qwen" --endpoint vllm
reaches vllm_thinking intercepted 'has("chat_template_kwargs") | not' \
	--no-disable-thinking
reaches vllm_model intercepted '.model == "mine"' --model mine

given VLLM_URL="$UPSTREAM/v1/" VLLM_API_KEY=$' key-of-vllm \n' VLLM_MODEL=m
reaches vllm_all key-of-vllm '.model == "m"'
reaches vllm_key "$key" '.model == "m"' --api-key-env UPSTREAM_KEY

given OPENAI_BASE_URL="$UPSTREAM/v1" OPENAI_API_KEY=key-of-openai
reaches openai key-of-openai '.model == "gpt-4o-mini" and .logprobs == true and
	(has("return_token_ids") or has("chat_template_kwargs") | not)'
check_result '.endpoint == "openai"'

given HF_ROUTER_BASE_URL="$UPSTREAM" HF_ROUTER_API_KEY=key-of-hf
reaches hf_router key-of-hf '.model == "Qwen/Qwen3-4B-Instruct-2507:nscale" and
	(has("return_token_ids") | not)' --endpoint hf_router
check_result '.endpoint == "hf_router"'

# A base URL that is given wins over what is set for others.
given VLLM_URL=http://127.0.0.1:9 VLLM_API_KEY=wrong OPENAI_API_KEY=wrong
reaches custom intercepted '.model == "m"' --base-url "$UPSTREAM" --model m
check_result '.endpoint == "custom"'
for name in OPENAI_API_KEY VLLM_API_KEY; do
	check "a warning of $name" has_line "$tmp/custom.stderr" \
		"$name is set but not used with --base-url: --api-key-env $name"
done
reaches custom_vllm wrong '.model == "Qwen/Qwen3.5-4B"' --endpoint vllm \
	--base-url "$UPSTREAM"
refute "a warning" grep warn "$tmp/custom_vllm.stderr"
reaches custom_key wrong '.model == "m"' --base-url "$UPSTREAM" --model m \
	--api-key-env OPENAI_API_KEY
refute "a warning" grep warn "$tmp/custom_key.stderr"

given
refused 'no model endpoint: give --base-url and --model, or set VLLM_URL'
refused "unknown endpoint kind: 'x'; expected one of (vllm, openai, hf_router)" \
	--endpoint x
refused 'vllm: no base_url (set VLLM_URL env var' --endpoint vllm
refused 'openai: no api_key (set OPENAI_API_KEY env var' --endpoint openai
refused 'hf_router: no api_key (set HF_ROUTER_API_KEY env var' \
	--endpoint hf_router
refused 'no model: give --model' --base-url "$UPSTREAM"
refused 'api-key-env: NOT_SET is not set' --base-url "$UPSTREAM" --model m \
	--api-key-env NOT_SET
for url in '' nonsense ftp://x http:// "$UPSTREAM?a=b" 'http://a b/'; do
	begin_rollout refused --base-url "$url" --model m
	end_of "$octap" 20
	check "'$url': exit code" equals "$status" 2
done

given OPENAI_API_KEY=' ' VLLM_URL=' '
refused 'openai: no api_key' --endpoint openai
refused 'vllm: no base_url' --endpoint vllm
given UPSTREAM_KEY_2=$'two\nlines'
refused 'UPSTREAM_KEY_2' --base-url "$UPSTREAM" --model m \
	--api-key-env UPSTREAM_KEY_2
