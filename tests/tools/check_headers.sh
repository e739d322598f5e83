#!/usr/bin/env bash
#
# Every header compiles on its own.
set -euo pipefail

cd "$(dirname "$0")/../.."
exec make -s check-headers CI=1
