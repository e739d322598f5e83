#!/usr/bin/env bash
# The real opencode talks to octap-proxy and to nobody else.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

use_opencode
# LeakSanitizer cannot work in a process that is traced.
export ASAN_OPTIONS=detect_leaks=0
task_words=("$PWD/templates/demo/task.json")
start_replay templates/demo/scripted.jsonl
# By root: what strace sees of a process that changes its user is root's.
as=(strace -f -qq -o "$tmp/calls" -e 'trace=connect,sendto,sendmsg,bind')
rollout traced
check_result '.outcome == "completed" and .reward == 1'

addresses()
{
	grep -oE 'sa_family=AF_INET6?,.*(sin6?_addr|inet_addr|inet_pton)[^}]*' \
		"$tmp/calls"
}
check "something was seen" test "$(addresses | wc -l)" -ge 2
refute "an address that is not ours" grep -v '"127.0.0.1"' <(addresses)
ports=$(addresses | grep -o 'sin_port=htons([0-9]*)' | sort -u | tr -dc '0-9\n')
check "the model server, the proxy and, bound, any" \
	test "$(grep -vxc 0 <<<"$ports")" -le 2
