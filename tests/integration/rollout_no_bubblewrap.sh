#!/usr/bin/env bash
# Where there is no bubblewrap, or it may not work, octap says what to do.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
task '{"verify":["true"]}' <<<'@call'

# refused TEXT: by a rollout that could not begin
refused()
{
	check "$name: exit code" equals "$status" 1
	check_result '.outcome == "failed" and .reward == null and
		.setup_results == [] and .agent_exit_code == null'
	check "$name: it says $1" has_line "$out/result.json" "$1"
}

# In a user namespace of its own in which no other can be made.
namespaces_forbidden()
{
	as+=(unshare -U --map-current-user --keep-caps bash -c
		'echo 0 >/proc/sys/user/max_user_namespaces
		exec setpriv --inh-caps=-all --ambient-caps=-all "$@"' bash)
	rollout forbidden
	refused 'user namespaces must be allowed'
}

# Too few descriptors are another matter.
for limit in 24 50 100 102; do
	as=(prlimit --nofile="$limit")
	rollout "descriptors$limit"
	refused 'oo many open files'
	refused 'ulimit -n'
	refute "of namespaces" grep namespaces "$out/result.json"
done
as=()

if ((EUID == 0)); then
	# Hidden from this octap only, by a mount namespace.
	as=(unshare -m bash -c 'mount --bind /dev/null /usr/bin/bwrap
		exec "$@"' bash)
	rollout missing
	refused 'bwrap is missing: install the package bubblewrap'
	be_nobody || exit 0
fi
namespaces_forbidden
