#!/usr/bin/env bash
# The proxy's memory and environment are closed to its own user, as whom the
# agent may run.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}"
if ((EUID == 0)); then
	chmod 777 "$tmp"
	cp "$OCTAP_PROXY" "$tmp/proxy"
	printf '#!/bin/sh\nexec %s %s "$@"\n' \
		'setpriv --reuid 65534 --regid 65534 --clear-groups' \
		"$tmp/proxy" >"$tmp/as_nobody"
	chmod 755 "$tmp/as_nobody" "$tmp/proxy"
	OCTAP_PROXY=$tmp/as_nobody
fi
UPSTREAM_API_KEY=secret start_proxy
ask answer "$tmp/stream.json"
check_records 1
check "it is not root" equals "$(sed -n 's/^Uid:\t*\([0-9]*\).*/\1/p' \
	"/proc/$PROXY_PID/status")" "$((EUID == 0 ? 65534 : EUID))"
for entry in environ mem maps fd; do
	check "$entry is root's" equals \
		"$(stat -c %u "/proc/$PROXY_PID/$entry")" 0
done
check "no core is left" equals "$(sed -n 's/^Max core file size *//p' \
	"/proc/$PROXY_PID/limits" | tr -s ' ')" '0 0 bytes '
