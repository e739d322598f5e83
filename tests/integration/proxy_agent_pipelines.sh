#!/usr/bin/env bash
# An agent that sends its next request, or anything else, before it has the
# answer does no harm.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}" --first-delay 200
start_proxy

# post FD: one call, without waiting for its answer
post()
{
	printf 'POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n' >&"$1"
	printf 'Content-Length: %s\r\n\r\n' \
		"$(stat -c %s "$tmp/stream.json")" >&"$1"
	cat "$tmp/stream.json" >&"$1"
}

connect()
{
	exec 3<>"/dev/tcp/127.0.0.1/${URL##*:}"
}

connect
post 3
post 3
cat <&3 >"$tmp/both" &
reader=$!
wait_until 5 "both answers" eval \
	'(($(grep -c "^data: \[DONE\]" "$tmp/both") == 2))'
kill "$reader"
wait "$reader" 2>/dev/null || true
exec 3>&-
check_records 2

# One byte too many, early and late, and gone.
for pause in 0 0.1 0.3; do
	connect
	post 3
	sleep "$pause"
	printf 'x' >&3
	sleep 0.1
	exec 3>&-
done
wait_until 5 "three more records" has_records 5
ask answer "$tmp/stream.json"
check "the next call" cmp "$tmp/answer" "$wire/vllm/text.plain.sse"
