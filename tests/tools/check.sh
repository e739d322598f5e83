#!/usr/bin/env bash
#
# What `make check` runs once everything is built: tests/tools/check.sh
#
# With the sanitized build: the unit tests, the fuzz corpora, the integration tests
# (of opencode's the demo only, for they are slow).  With the release build: all
# integration tests with the static octap-proxy, and with its own proxy those that
# depend on libraries and the system.  Besides a few checks of the sources.  The
# last line adds everything up.
set -uo pipefail

cd "$(dirname "$0")/../.." || exit 1
shopt -s extglob
sanitized=build/address-undefined
passed=0
failed=0

# run TITLE FLAVOUR-FOLDER TEST...; $bin has other programs than the flavour's.
run()
{
	local title=$1 out=$2 log

	shift 2
	printf '\n%s\n' "$title"
	log=$(mktemp)
	OCTAP=${bin:-$out/bin}/octap OCTAP_PROXY=${bin:-$out/bin}/octap-proxy \
		FAKE_UPSTREAM=$out/tests/fake/upstream \
		FAKE_AGENT=$out/tests/fake/agent \
		tests/tools/run.sh "$@" | tee "$log" | head -n -1
	read -r p _ f _ < <(tail -n 1 "$log")
	passed=$((passed + p))
	failed=$((failed + f))
	rm -f "$log"
}

integration=(tests/integration/{proxy,replay,rollout,trace}_*.sh)
native=(tests/integration/proxy_{tls,run_as,undumpable,key_other_users}.sh
	tests/integration/proxy_{descriptors,long_answer,trace_full}.sh
	tests/integration/proxy_{stream,whole}_vectors.sh
	tests/integration/opencode_demo.sh)
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1}

run 'Sources' build/release tests/tools/check_{headers,layers,options}.sh
run 'Unit tests (sanitized)' "$sanitized" "$sanitized"/tests/unit/test_+([a-z0-9_])
run 'Fuzz corpora (sanitized)' "$sanitized" tests/tools/check_corpora.sh
run 'Integration tests (release)' build/release "${native[@]}"
run 'Static program' build/static tests/tools/check_static.sh
# octap starts the octap-proxy that is beside itself.
ln -f build/release/bin/octap build/static/bin/octap
bin=build/static/bin run 'Integration tests (static)' build/release \
	"${integration[@]}" tests/integration/{opencode,static}_*.sh
run 'Integration tests (sanitized)' "$sanitized" "${integration[@]}" \
	tests/integration/opencode_demo.sh
printf '\n%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
