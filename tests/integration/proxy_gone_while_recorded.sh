#!/usr/bin/env bash
#
# An agent that hangs up while its turn is being recorded has no answer: when it
# asks again, that is another attempt.
. "$(dirname "$0")/lib.sh"

# The model server: its answer ends when the file is there.
cat >"$tmp/server.py" <<'END'
import json, os, socket, sys, time
answer = (b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n',
          b'data: {"choices":[{"index":0,"delta":{},'
          b'"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')
server = socket.create_server(("127.0.0.1", 0))
print(json.dumps({"event": "listening", "port": server.getsockname()[1]}),
      flush=True)
while True:
    s, _ = server.accept()
    request = s.makefile("rb")
    length = 0
    while line := request.readline().strip():
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    request.read(length)
    s.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
              b"Connection: close\r\n\r\n" + answer[0])
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    s.sendall(answer[1])
    request.close()
    s.close()
    print('{"event":"answered"}', flush=True)
END
listener server python3 "$tmp/server.py" "$tmp/go"
server=$pid
UPSTREAM=http://127.0.0.1:$port
start_proxy --dialect plain
session=(-H 'x-session-id: ses_1')

# Both happen while the proxy looks away: it learns of the answer's end first.
curl -sS -N -o "$tmp/answer" --data-binary "@$tmp/stream.json" "${session[@]}" \
	"$URL/v1/chat/completions" &
agent=$!
wait_until 10 "the answer's beginning" has_line "$tmp/answer" content
kill -STOP "$PROXY_PID"
touch "$tmp/go"
wait_until 10 "the answer's end" has_line "$tmp/server.out" answered
kill -KILL "$agent"
wait "$agent" 2>/dev/null || true
kill -CONT "$PROXY_PID"
wait_until 10 "its record" has_records 1

ask answer "$tmp/stream.json" "${session[@]}"
check_record 1 '.complete and .attempt == 1'
check_record 2 '.complete and .delivered and .attempt == 2 and .supersedes == 1'
kill -KILL "$server"
end_of "$server" 20
