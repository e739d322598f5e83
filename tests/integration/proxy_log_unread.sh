#!/usr/bin/env bash
#
# A proxy whose stderr is a pipe that nobody reads serves on, ends well, and says
# what it could not say once there is room.
. "$(dirname "$0")/lib.sh"

mkfifo "$tmp/pipe"
exec 8<>"$tmp/pipe"
printf '#!/bin/sh\nexec %s "$@" 2>%s\n' "$OCTAP_PROXY" "$tmp/pipe" \
	>"$tmp/unread"
chmod 755 "$tmp/unread"
start_upstream "${answers[@]}"
OCTAP_PROXY=$tmp/unread start_proxy --dialect vllm

# Each leaves a line behind.
refused()
{
	python3 - "${URL##*:}" "$1" <<-'END'
		import socket, sys
		for _ in range(int(sys.argv[2])):
		    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
		    s.settimeout(10)
		    s.sendall(b"no HTTP\r\n\r\n")
		    while s.recv(65536):
		        pass
		    s.close()
	END
}

check "all are answered" refused 1500
ask answer "$tmp/stream.json"
check "the answer" cmp "$tmp/answer" "$wire/vllm/text.plain.sse"
timeout 1 cat <&8 >"$tmp/said" || true
check "it was full" test "$(stat -c %s "$tmp/said")" -gt 60000
refused 1
timeout 1 cat <&8 >"$tmp/said" || true
check "what is lost" grep -qE 'log: [0-9]+ lines .* lost' "$tmp/said"
check "what is not" grep -q 'refused with 400' "$tmp/said"
refused 1500
stop_proxy
check_records 1
