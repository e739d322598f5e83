#!/usr/bin/env bash
# However a model call's path is spelled, it is recorded; names with dots are no
# climbing.
. "$(dirname "$0")/lib.sh"

mkdir "$tmp/saved"
start_upstream "${answers[@]}" --save-requests "$tmp/saved"
start_proxy --dialect vllm
for path in /v1/chat/completions/ /v1/chat/completion%73 \
	/chat%2Fcompletions /openai/v1/chat/completions; do
	curl -sS --path-as-is -o "$tmp/answer" --data-binary \
		"@$tmp/stream.json" "$URL$path"
	check "$path" cmp "$tmp/answer" "$wire/vllm/text.plain.sse"
done
check_records 4
curl -sS -o "$tmp/answer" "$URL/v1/models/llama..x"
check "it went through" grep -q '^GET /v1/models/llama..x ' \
	"$tmp/saved/5.head"
