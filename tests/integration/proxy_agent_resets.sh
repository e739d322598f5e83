#!/usr/bin/env bash
#
# An agent that resets its connection, or closes only its sending side, is gone
# at once: before the head, within the answer, and behind bytes that nobody has
# read yet.  Meanwhile nothing spins.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}" --script <(
	for ((i = 0; i < 6; i++)); do
		printf '{"first-delay":60000}\n{"first-delay":60000}\n'
		printf '{"chunk":"1000","delay":60000}\n'
		printf '{"chunk":"100","delay":60000}\n'
	done)
start_proxy --dialect vllm
turn=0

# leaves HOW BODY-FILE BYTES: a call, BYTES more after it, and gone
leaves()
{
	turn=$((turn + 1))
	python3 - "${URL##*:}" "$@" <<-'END'
		import socket, struct, sys, time
		port, how, file, more = sys.argv[1:]
		body = open(file, "rb").read()
		s = socket.create_connection(("127.0.0.1", int(port)))
		s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n"
		          b"Content-Length: %d\r\n\r\n" % len(body) + body)
		time.sleep(0.1)
		s.sendall(b"x" * int(more))
		time.sleep(0.1)
		if how == "half":
		    s.shutdown(socket.SHUT_WR)
		    s.settimeout(5)
		    while s.recv(65536):
		        pass
		else:
		    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
		                 struct.pack("ii", 1, 0))
		s.close()
	END
	wait_until 1 "$*: the call's end upstream" upstream_saw peer_gone "$turn"
	wait_until 1 "$*: its record" has_records "$turn"
	check_record "$turn" '.complete == false and .delivered == false and
		(.abort_reason | test("agent"))'
}

for how in reset half; do
	for more in 0 1 100000; do
		for body in stream whole stream whole; do
			leaves "$how" "$tmp/$body.json" "$more"
		done
	done
done
ticks=$(awk '{ print $14 + $15 }' "/proc/$PROXY_PID/stat")
check "$ticks ticks of a processor" test "$ticks" -lt 200
