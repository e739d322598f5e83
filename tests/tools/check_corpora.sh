#!/usr/bin/env bash
#
# Every fuzz target goes through its committed corpus without a finding.
set -euo pipefail

cd "$(dirname "$0")/../.."
FUZZ=${FUZZ:-build/address-undefined/tests/fuzz}

for corpus in tests/fuzz/corpus/*/; do
	name=$(basename "$corpus")
	"$FUZZ/fuzz_$name" "$corpus"
done
