#!/usr/bin/env bash
# --run-as: root gives itself up for good, and nobody can look into it.
. "$(dirname "$0")/lib.sh"

if ((EUID != 0)); then
	echo "only root can become somebody else"
	exit 77
fi
start_upstream "${answers[@]}"
start_proxy --run-as 65534:65533
ask answer "$tmp/stream.json"
check_records 1

# The same for each thread.
says()
{
	check "$1" equals "$(cat "/proc/$PROXY_PID/task/"*/status |
		sed -n "s/^$1:[ \t]*//p" | tr -s ' \t' ' ' | sed 's/ $//' |
		sort -u)" "$2"
}

says Uid '65534 65534 65534 65534'
says Gid '65533 65533 65533 65533'
says Groups ''
says CapEff 0000000000000000
says CapPrm 0000000000000000
says NoNewPrivs 1
check "its memory is root's" equals \
	"$(stat -c %u "/proc/$PROXY_PID/environ")" 0
