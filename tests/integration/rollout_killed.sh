#!/usr/bin/env bash
# octap killed with SIGKILL: within a second nothing of it runs, the captured
# turns are in the trace, and the next octap removes the folder.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"

kill_octap()
{
	kill -KILL "$octap"
	end_of "$octap" 5
	check "killed" equals "$status" 137
	wait_until 1 "all processes to end" nothing_runs
	check "its folder is left" test -d "$(sandbox_home)"
}

killed()
{
	task '{"setup":["setsid sleep 990 & sleep 999"]}' <<<'@call'
	begin_rollout in_setup
	wait_until 20 "setup" eval '(($(rollout_process sleep | wc -l) == 2))'
	kill_octap

	task '{"verify":["true"]}' <<-'END'
		@calls 2
		@background (trap "" 1 2 3 15; sleep 990)
		@background while :; do sleep 0.01; done
		@sh touch called
		@hang
	END
	begin_rollout while_running
	wait_until 20 "two calls" file_exists workdir/called
	check "it is there" eval '(( $(rollout_processes | wc -l) > 4 ))'
	kill_octap
	use_trace
	check_records 2
	check_record 2 '.token_status == "exact"'
	check "the proxy closed it" zstd -qt "$TRACE"
	refute "no result" test -e "$out/result.json"

	task '{"verify":["setsid sleep 990 & sleep 999"]}' <<<'@call'
	begin_rollout while_verifying
	wait_until 20 "verify" eval '(($(rollout_process sleep | wc -l) == 2))'
	kill_octap

	check "the folder of each but the last was removed" \
		equals "$(ls -d "$state"/*/ | wc -l)" 1
	task <<<'@call'
	rollout next
}

each_user killed
