#!/usr/bin/env bash
# Nobody but this machine can reach the proxy, unless --host says so; then it
# warns.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}"
printf 'client-key\n' >"$tmp/key"

# The addresses it listens on, as /proc/net has them.
listens_on()
{
	local port

	port=$(printf '%04X' "${URL##*:}")
	cat /proc/net/tcp /proc/net/tcp6 |
		sed -n "s/^ *[0-9]*: \([0-9A-F]*\):$port [0-9A-F]*:0000 0A .*/\1/p"
}

start_proxy
check "loopback" equals "$(listens_on)" 0100007F
check "no warning" test ! -s "$PROXY_LOG"
stop_proxy
for host in 127.0.0.2 localhost; do
	start_proxy --host "$host"
	check "$host: no warning" test ! -s "$PROXY_LOG"
	stop_proxy
done

start_proxy --host 0.0.0.0
check "everybody" equals "$(listens_on)" 00000000
check "a warning" grep -q -- '--host 0.0.0.0: other machines .*key' "$PROXY_LOG"
ask answer "$tmp/stream.json"
check_status answer 200
stop_proxy
start_proxy --host 0.0.0.0 --client-key-file "$tmp/key"
check "a warning" has_line "$PROXY_LOG" '--host 0.0.0.0: other machines'
refute "advice that was followed" has_line "$PROXY_LOG" 'client-key-file'
