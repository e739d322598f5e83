#!/usr/bin/env bash
# An upstream cannot put the agent to sleep for longer than we say.
. "$(dirname "$0")/lib.sh"

printf '{"error":{"message":"Busy."}}' >"$tmp/busy.json"
start_upstream --status 429 --body "$tmp/busy.json" --stream "$tmp/busy.json" \
	--script <(for value in 'Retry-After: 3600' 'Retry-After: 7' \
		'Retry-After: Fri, 31 Dec 2094 23:59:59 GMT' \
		'Retry-After-Ms: 3600000' 'Retry-After: 99999999999999999999' \
		'Retry-After: soon'; do
		jq -nc --arg value "$value" --arg file "$tmp/busy.json" \
			'{status: 429, body: $file, header: [$value]}'
	done)
start_proxy --dialect vllm
for expected in 30 7 30 30000 30 soon; do
	ask answer "$tmp/whole.json"
	check "$expected" grep -qiE "^retry-after(-ms)?: $expected." \
		"$tmp/answer.head"
done
stop_proxy
start_proxy --dialect vllm --max-retry-after 5
ask answer "$tmp/whole.json"
check "as it stands" grep -qi '^retry-after: soon' "$tmp/answer.head"
