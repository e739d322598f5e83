#!/usr/bin/env bash
# JSON of 10,000 levels: refused from the agent, passed on from the upstream,
# recorded without being read.
. "$(dirname "$0")/lib.sh"

# nested LEVELS
nested()
{
	printf '[%.0s' $(seq "$1")
	printf ']%.0s' $(seq "$1")
}

printf '{"id":"x","choices":[],"deep":%s}' "$(nested 10000)" >"$tmp/body"
{
	printf 'data: %s\n\n' "$(<"$tmp/body")"
	cat "$wire/vllm/text.plain.sse"
} >"$tmp/stream"
start_upstream --body "$tmp/body" --stream "$tmp/stream" \
	--save-requests "$tmp"
start_proxy

for brackets in '[' '{"a":'; do
	{
		printf '{"model":"m","messages":'
		printf "$brackets%.0s" {1..10000}
	} >"$tmp/open"
	ask answer "$tmp/open"
	check_status answer 400
done
request "\"tools\":$(nested 10000)" >"$tmp/deep"
ask answer "$tmp/deep"
check_status answer 400
check_error "$tmp/answer"
check "it says why" grep -q "too deep" "$tmp/answer"
check_record 3 '.complete == false and (.abort_reason | test("too deep")) and
	.request == null'
check "the body is recorded" cmp "$tmp/deep" \
	<(jq -r .request_base64 "$tmp/record.3" | base64 -d)
refute "the upstream was asked" has_line "$UPSTREAM_LOG" '"request"'

request "\"tools\":$(nested 150)" >"$tmp/deep"
ask answer "$tmp/deep"
check_status answer 200
check "the answer" cmp "$tmp/answer" "$tmp/body"
check_record 4 '.complete == false and (.abort_reason | test("too deep")) and
	.upstream.status == 200'
check "what was asked" grep -qF "$(nested 150)" "$tmp/1.body"

ask answer "$tmp/stream.json"
check "the stream" cmp "$tmp/answer" "$tmp/stream"
check_record 5 '.complete == false and (.abort_reason | contains("no JSON object")) and
	.token_status == "mismatch" and .response.choices[0].message.content != null'
