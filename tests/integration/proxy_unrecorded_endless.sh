#!/usr/bin/env bash
#
# Of a refusal without end that is not recorded the agent gets the beginning; a
# list of models without end, which the proxy asks for itself, is not read on.
. "$(dirname "$0")/lib.sh"

head -c 100000 /dev/zero | tr '\0' x >"$tmp/page"
start_upstream --status 500 --body "$tmp/page" --endless
start_proxy --dialect vllm
status=0
curl -sS --max-time 10 -o "$tmp/answer" -D "$tmp/answer.head" -d '{}' \
	"$URL/v1/embeddings"
check_status answer 500
check "its beginning" test "$(stat -c %s "$tmp/answer")" -gt 900000
check "its length" test "$(stat -c %s "$tmp/answer")" -lt 1100000
check "said once" equals "$(grep -c 'is cut' "$PROXY_LOG")" 1
wait_until 2 "the call's end upstream" upstream_saw peer_gone 1
check_memory 16384

python3 - >"$tmp/models" <<-'END' &
	import socket
	s = socket.create_server(("127.0.0.1", 0))
	print(s.getsockname()[1], flush=True)
	c, _ = s.accept()
	c.recv(65536)
	c.sendall(b"HTTP/1.1 200 OK\r\n\r\n[")
	try:
	    while True:
	        c.sendall(b"1," * 50000)
	except OSError:
	    print("gone", flush=True)
END
models=$!
running[$models]="the list of models"
wait_until 10 "the list of models" test -s "$tmp/models"
UPSTREAM=http://127.0.0.1:$(cat "$tmp/models")
start_proxy --trace "$tmp/other.jsonl"
wait_until 5 "the end of the list" has_line "$tmp/models" gone
check "it says so" has_line "$PROXY_LOG" 'the list of models'
check_memory 16384
