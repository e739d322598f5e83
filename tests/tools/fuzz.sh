#!/usr/bin/env bash
#
# Run each libFuzzer target for so many seconds: tests/tools/fuzz.sh SECONDS
#
# New inputs go to build/fuzz; a finding stops with its input named.
set -euo pipefail

cd "$(dirname "$0")/../.."
seconds=${1:?seconds}
programs=build/fuzzer-no-link-address-undefined/tests/libfuzzer

for program in "$programs"/fuzz_*; do
	name=$(basename "$program")
	corpus=tests/fuzz/corpus/${name#fuzz_}
	mkdir -p "build/fuzz/$name"
	echo "$name"
	"$program" -max_total_time="$seconds" -print_final_stats=1 \
		-artifact_prefix="build/fuzz/$name-" \
		"build/fuzz/$name" "$corpus" 2>&1 |
		grep -E 'stat::(number|average)|SUMMARY|ERROR' || true
	! ls "build/fuzz/$name"-* >/dev/null 2>&1 || {
		ls "build/fuzz/$name"-*
		exit 1
	}
done
