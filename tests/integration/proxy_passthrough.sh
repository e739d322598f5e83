#!/usr/bin/env bash
# What is no model call goes through unrecorded; nothing climbs out of the
# upstream's path.
. "$(dirname "$0")/lib.sh"

mkdir "$tmp/saved"
start_upstream "${answers[@]}" --save-requests "$tmp/saved"
start_proxy --upstream-url "$UPSTREAM/v1/"

get()
{
	curl -sS --path-as-is --max-time 10 -o "$tmp/got" -D "$tmp/got.head" \
		"$@"
}

get "$URL/v1/models"
check_status got 200
check_json "$tmp/got" '.object == "list" and .data[0].id == "fake-model"'
get "$URL/models?limit=3"
check_status got 404
check "query" grep -q '^GET /v1/models?limit=3 HTTP' "$tmp/saved/2.head"
get "$URL/v1/nothing"
check_status got 404
get -X DELETE "$URL/v1/files/1"
check "method" grep -q '^DELETE /v1/files/1 HTTP' "$tmp/saved/4.head"
get "$URL/v1/embeddings" -H 'Content-Type: text/x' --data-binary $' {\n "a"}'
check "body" equals "$(cat "$tmp/saved/5.body")" $' {\n "a"}'
check "type" grep -qi '^content-type: text/x' "$tmp/saved/5.head"
check "the answer" cmp "$tmp/got" "$wire/vllm/text.asked.json"
get -I "$URL/v1/models"
check_status got 404

for path in /v1/../admin /../v1/models /v1/%2e%2e/admin /v1/a/..%2fb \
	'/v1/..\admin' /v1/%2E%2E/x; do
	get "$URL$path"
	check_status got 404
	check_error "$tmp/got"
done
check "none of these was asked for" test ! -e "$tmp/saved/7.head"
check_records 0

# A call without /v1 is one all the same; a GET at its path is not.
ask answer "$tmp/stream.json" --request-target /chat/completions
check "the answer" cmp "$tmp/answer" "$wire/vllm/text.plain.sse"
get "$URL/v1/chat/completions"
check_status got 404
check_records 1
