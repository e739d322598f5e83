#!/usr/bin/env bash
# A caller that reads nothing of its answer cannot hold up the end.
. "$(dirname "$0")/lib.sh"

{
	printf '{"choices":[{"index":0,"message":{"content":"'
	head -c 30000000 /dev/zero | tr '\0' x
	printf '"},"finish_reason":"stop"}]}'
} >"$tmp/large.json"
start_upstream --body "$tmp/large.json"
start_proxy --dialect vllm --drain-timeout 1
exec 9<>"/dev/tcp/127.0.0.1/${URL##*:}"
printf 'POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s' \
	"$(wc -c <"$tmp/whole.json")" "$(cat "$tmp/whole.json")" >&9
wait_until 10 "the record" has_records 1
kill -TERM "$PROXY_PID"
end_of "$PROXY_PID" 5
check "exit status" equals "$status" 0
exec 9>&-
