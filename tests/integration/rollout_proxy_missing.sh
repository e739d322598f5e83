#!/usr/bin/env bash
# Without a proxy that starts there is no rollout, and it is said why.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
task '{"verify":["true"]}' <<<'@call'

# An octap of its own, beside which we put what we like.
mkdir "$tmp/alone"
cp "$OCTAP" "$tmp/alone/octap"
programs=$tmp/alone

octap_env=(PATH=/usr/bin:/bin)
begin_rollout missing
end_of "$octap" 20
check "exit code" equals "$status" 1
check "it says so" grep -q 'octap-proxy is neither beside octap nor in PATH' \
	"$tmp/missing.stderr"
assert_nothing_left

# stands_in NAME: a proxy that does what stdin says
stands_in()
{
	cat >"$tmp/alone/octap-proxy"
	chmod 755 "$tmp/alone/octap-proxy"
	rollout "$1"
	check_result '.outcome == "failed" and .reward == null and
		.agent_exit_code == null and .verify_results == []'
	refute "the agent ran" test -e "$out/agent.jsonl"
}

stands_in refuses <<'END'
#!/bin/bash
echo "no room for it" >&2
exit 9
END
check_result '.error | contains("octap-proxy ended at its start (exit 9)")'
check_result '.proxy_log_tail == "no room for it\n"'

stands_in no_program <<<'not a program'
check_result '.error | test("octap-proxy.*Exec format error")'

stands_in silent <<'END'
#!/bin/bash
exec sleep 600
END
check_result '.error == "arming took longer than 10 s"'
