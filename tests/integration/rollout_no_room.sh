#!/usr/bin/env bash
# Where a file cannot be written the rollout failed, whatever the agent did.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
head -c 3000000 /dev/zero >"$tmp/large"
as=(prlimit --fsize=1500000)

task '{"upload":[{"from":"large","to":"large"}],"verify":["true"]}' <<<'@call'
rollout staging
check_result '.outcome == "failed" and .reward == null and
	.agent_exit_code == null and (.error | contains("large"))'

task '{"verify_upload":[{"from":"large","to":"large"}],"verify":["true"]}' \
	<<<'@call'
rollout verifying
check_result '.outcome == "failed" and .reward == null and
	.agent_exit_code == 0 and .verify_results == [] and
	(.error | contains("large")) and (.proxy_turns | length == 1)'

rollout verifying_failed_agent --on-agent-failure score
check_result '.outcome == "failed" and .reward == null'

# What only cannot be collected is named.
as=()
task '{"verify":["true"]}' <<'END'
@call
@sh echo x >some; mkdir a; echo y >a/other
@sh touch /tmp/runs; until test -e /tmp/go; do sleep 0.05; done
END
begin_rollout collecting
wait_until 20 "the agent" file_exists ../tmp/runs
echo occupied >"$out/files"
touch "$(sandbox_home)/../tmp/go"
end_rollout 20
check_result '.outcome == "completed" and .reward == 1 and .files == {} and
	.files_extra == ["a/other", "some"]'
