#!/usr/bin/env bash
# An agent's log that is too long is kept without its middle, one that is no
# file is not, and the result says so.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
log=/home/user/logs/agent/opencode.jsonl

# leaves NAME BASH: done by the agent to its own log
leaves()
{
	task '{"verify":["true"]}' <<<"@call
@sh $2"
	rollout "$1"
	check_result '.outcome == "completed" and .reward == 1'
}

leaves plain true
check_result '.agent_log_fault == null'
leaves fifo "rm $log; mkfifo $log"
check_result '.agent_log_tail == "" and
	(.agent_log_fault | contains("not a regular file"))'
leaves link "rm $log; ln -s /etc/passwd $log"
check_result '.agent_log_tail == "" and .agent_log_fault != null'
leaves none "rm $log"
check_result '.agent_log_tail == "" and .agent_log_fault != null'

# 256 MiB are kept, with a line in place of what is not.
leaves long "truncate -s 300M $log; echo last >>$log"
check_result '.agent_log_fault | contains("agent.jsonl was too long")'
check_result '.agent_log_tail | endswith("last\n")'
size=$(stat -c %s "$out/agent.jsonl")
check "size $size" test "$size" -gt 268000000 -a "$size" -le 268435456
line=$(grep -a 'octap.cut' "$out/agent.jsonl")
check "the bytes left out" test "$(jq .bytes <<<"$line")" -gt 46000000
check "its beginning" jq -e . <(head -n 1 "$out/agent.jsonl")
rm -r "$out"
