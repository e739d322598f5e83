#!/usr/bin/env bash
# Where a file cannot be written the rollout failed, whatever the agent did.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
head -c 3000000 /dev/zero >"$tmp/large"
as=(prlimit --fsize=1500000)
octap_env=(--ignore-signal=XFSZ)

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
mkdir "$place/collecting"
echo occupied >"$place/collecting/files"
task '{"verify":["true"]}' <<'END'
@call
@sh echo x >some; mkdir a; echo y >a/other
END
rollout collecting
check_result '.outcome == "completed" and .reward == 1 and .files == {} and
	.files_extra == ["a/other", "some"]'
