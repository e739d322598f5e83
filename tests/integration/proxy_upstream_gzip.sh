#!/usr/bin/env bash
# An upstream that compresses unasked gives nothing that could be recorded: the
# agent is told so in a form that it can read.
. "$(dirname "$0")/lib.sh"

gzip -c "$wire/vllm/text.asked.sse" >"$tmp/stream.gz"
gzip -c "$wire/vllm/text.asked.json" >"$tmp/body.gz"
start_upstream --stream "$tmp/stream.gz" --body "$tmp/body.gz" --fault gzip
start_proxy
ask answer "$tmp/stream.json"
check_status answer 200
check_error <(sed -n 's/^data: //p' "$tmp/answer")
refute "the stream is not compressed" \
	grep -qi '^content-encoding' "$tmp/answer.head"
check_record 1 '.complete == false'

# A whole answer passes as it is: the agent may be able to read it.
ask answer "$tmp/whole.json"
check_status answer 200
check "the body" cmp "$tmp/answer" "$tmp/body.gz"
check "its encoding" grep -qi '^content-encoding: gzip' "$tmp/answer.head"
check_record 2 '.complete == false and .token_status == "none"'
