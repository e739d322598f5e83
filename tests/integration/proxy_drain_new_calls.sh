#!/usr/bin/env bash
#
# While the proxy ends, a new call on an open connection is refused in words by
# which no agent asks again, and not recorded; what is under way goes on.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}" --chunk 300 --delay 150
start_proxy --dialect vllm
exec 9<>"/dev/tcp/127.0.0.1/${URL##*:}"
ask answer "$tmp/stream.json" &
agent=$!
wait_until 5 "the answer's beginning" test -s "$tmp/answer"
kill -TERM "$PROXY_PID"
wait_until 2 "new connections to be refused" eval \
	'! curl -sS --max-time 1 "$URL/healthz" 2>/dev/null'

printf 'POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n' >&9
printf 'Content-Length: %s\r\n\r\n' "$(stat -c %s "$tmp/whole.json")" >&9
cat "$tmp/whole.json" >&9
timeout 5 cat <&9 >"$tmp/late.head"
exec 9>&-
check_status late 403
check "it closes" grep -qi '^connection: close' "$tmp/late.head"
sed '1,/^\r$/d' "$tmp/late.head" >"$tmp/late"
check_error "$tmp/late"

wait "$agent"
check "the answer is whole" cmp "$tmp/answer" "$wire/vllm/text.plain.sse"
end_of "$PROXY_PID" 2
check "exit status" equals "$status" 0
check_records 1
