#!/usr/bin/env bash
# More connections than are allowed: those above are closed, the others and the
# proxy live.
. "$(dirname "$0")/lib.sh"

trap "" PIPE # writing to what was closed
start_upstream "${answers[@]}" --first-delay 300
# As most systems begin.
ulimit -S -n 1024
start_proxy
ulimit -S -n 8192
ask patient "$tmp/stream.json" &
agent=$!
wait_until 5 "the call to be under way" upstream_saw request 1

sockets()
{
	find "/proc/$PROXY_PID/fd" -lname 'socket:*' 2>/dev/null | wc -l
}

connections=()
for _ in {1..1500}; do
	exec {connection}<>"/dev/tcp/127.0.0.1/${URL##*:}"
	connections+=("$connection")
	printf 'POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nX: ' \
		>&"$connection" || true
done
sleep 0.3
count=$(sockets)
check "$count sockets are open, above 1000" test "$count" -gt 1000
check "$count sockets are open, below 1040" test "$count" -lt 1040
check_memory 16384
check "said once" equals "$(grep -c 'connections' "$PROXY_LOG")" 1
check "the agent that was first" wait "$agent"
check "its answer" cmp "$tmp/patient" "$wire/vllm/text.plain.sse"

for connection in "${connections[@]}"; do
	exec {connection}>&-
done
wait_until 5 "the sockets to be closed" eval '(($(sockets) < 20))'
ask answer "$tmp/stream.json"
check "the next call" cmp "$tmp/answer" "$wire/vllm/text.plain.sse"
