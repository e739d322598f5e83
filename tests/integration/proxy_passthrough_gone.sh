#!/usr/bin/env bash
# An agent that goes in the middle of an unrecorded upload: nothing of it is
# touched any more, and the proxy serves on.
. "$(dirname "$0")/lib.sh"

# A server that reads slowly and never answers.
python3 - >"$tmp/slow" <<-'END' &
	import socket, threading, time
	def read(c):
	    while c.recv(65536):
	        time.sleep(0.002)
	s = socket.create_server(("127.0.0.1", 0))
	print(s.getsockname()[1], flush=True)
	while True:
	    c, _ = s.accept()
	    threading.Thread(target=read, args=(c,), daemon=True).start()
END
slow=$!
running[$slow]="the slow server"
wait_until 10 "the slow server" test -s "$tmp/slow"
UPSTREAM=http://127.0.0.1:$(cat "$tmp/slow")
start_proxy --dialect vllm

says_ok()
{
	[[ $(health | jq -r .status) == ok ]]
}

head -c 30000000 /dev/zero >"$tmp/upload"
for delay in 0.1 0.15 0.2 0.25 0.3 0.35; do
	curl -s --max-time "$delay" --data-binary "@$tmp/upload" \
		"$URL/v1/files" && fail "an answer from nobody"
	check "it lives" says_ok
done
kill -KILL "$slow"
end_of "$slow" 5
check "no record" has_records 0
