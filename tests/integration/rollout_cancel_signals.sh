#!/usr/bin/env bash
# SIGTERM and SIGHUP end a rollout as SIGINT does; a second signal does not wait.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
task <<<'@call
@background sleep 990
@hang'

for signal in TERM HUP; do
	begin_rollout "$signal"
	wait_until 20 "the child" eval '[[ $(rollout_process sleep) ]]'
	kill -"$signal" "$octap"
	end_rollout 10
	check "$signal: exit code" equals "$status" 130
	check_result '.outcome == "cancelled" and (.proxy_turns | length == 1)'
done

# Those that were ignored at the start stay so: nohup, and a shell's "&".
octap_env=(--ignore-signal=HUP --ignore-signal=INT)
begin_rollout ignored
wait_until 20 "the child" eval '[[ $(rollout_process sleep) ]]'
kill -HUP "$octap"
kill -INT "$octap"
sleep 0.5
kill -0 "$octap"
kill -TERM "$octap"
end_rollout 10
check_result '.outcome == "cancelled"'
octap_env=()

# A second one while the first is still being served: a proxy that takes its
# time holds octap there.
mkdir "$tmp/slow"
cp "$OCTAP" "$tmp/slow/octap"
cat >"$tmp/slow/octap-proxy" <<END
#!/bin/bash
"$(dirname "$OCTAP")/octap-proxy" "\$@" &
trap 'trap "" TERM; sleep 2; kill \$!; wait' TERM
wait; wait
END
chmod 755 "$tmp/slow/octap-proxy"
programs=$tmp/slow
begin_rollout twice
wait_until 20 "the child" eval '[[ $(rollout_process sleep) ]]'
id=$(basename "$(dirname "$(sandbox_home)")")
kill -INT "$octap"
sleep 0.3
kill -0 "$octap"
kill -INT "$octap"
end_of "$octap" 1
check "exit code" equals "$status" 130
check "it names what it leaves" grep -F "$id" "$tmp/twice.stderr"
refute "no result" test -e "$out/result.json"

# The folder is left, the processes are not (the slow proxy takes two seconds).
wait_until 8 "all processes to end" nothing_runs
check "its folder" test -d "$state/$id"
programs=$(dirname "$OCTAP")
task <<<'@call'
rollout next
