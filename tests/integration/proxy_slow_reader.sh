#!/usr/bin/env bash
# An agent that reads slowly holds the upstream up instead of filling the
# proxy's memory, and gets every byte in the end.
. "$(dirname "$0")/lib.sh"

bytes=200000000
event=$(printf '{"id":"c","object":"chat.completion.chunk","created":1,%s%s' \
	'"model":"m","choices":[{"index":0,"delta":{"content":"x"},' \
	'"logprobs":null,"finish_reason":null}],"obfuscation":"')
event+=$(printf '%01900d' 0)'%.0f"}'
finish='{"choices":[{"index":0,"delta":{},"logprobs":null,'
finish+='"finish_reason":"stop"}]}'
{
	seq -f "data: $event"$'\n' $((bytes / (${#event} + 8)))
	printf 'data: %s\n\ndata: [DONE]\n\n' "$finish"
} >"$tmp/stream"

start_upstream --stream "$tmp/stream"
start_proxy
mkfifo "$tmp/pipe"
cmp "$tmp/stream" - <"$tmp/pipe" &
reader=$!
ask pipe "$tmp/stream.json" &
agent=$!

resident()
{
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$PROXY_PID/status"
}

# Stopped for long enough to send all of it, then again near the end.
for pause in 100 200; do
	sleep ".$pause"
	kill -STOP "$reader"
	sleep 1.2
	((pause != 100)) || refute "the upstream is held up" \
		upstream_saw answered 1
	kill -CONT "$reader"
done
wait "$agent"
check "every byte arrived" wait "$reader"
sanitized || check "resident memory was $(resident) KiB at most" \
	test "$(resident)" -lt 65536
check_record 1 '.complete and .delivered'
