#!/usr/bin/env bash
# A call that the agent makes again, because it did not get an answer or got an
# error, is linked to the one before; the same bytes after an answer are a new
# turn.
. "$(dirname "$0")/lib.sh"

printf '%s\n' '{"fault":"cut","fault-after":400}' \
	'{"fault":"close-before-head"}' '{"status":429}' '{}' '{}' >"$tmp/script"
start_upstream "${answers[@]}" --script "$tmp/script"
start_proxy --dialect vllm
session=(-H 'x-session-id: ses_1')

for turn in 1 2 3 4 5; do
	ask answer "$tmp/stream.json" "${session[@]}" || true
done
request "$with_usage,\"seed\":1" >"$tmp/next.json"
ask answer "$tmp/next.json" "${session[@]}"
ask answer "$tmp/next.json" -H 'x-session-id: ses_2'
check "attempts" equals "$(trace | jq -c '[.turn, .attempt, .supersedes]' |
	tr '\n' ' ')" \
	'[1,1,null] [2,2,1] [3,3,2] [4,4,3] [5,1,null] [6,1,null] [7,1,null] '
