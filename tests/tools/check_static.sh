#!/usr/bin/env bash
#
# The static octap-proxy needs no library, is stripped and small, and its bytes
# depend on the sources only: compiled and linked again elsewhere, with the same
# libraries, it is the same.  (That libcurl's archive is the same elsewhere takes
# 40 s to show; compare with FULL=1.)
set -euo pipefail

cd "$(dirname "$0")/../.."
OCTAP_PROXY=${OCTAP_PROXY:-build/static/bin/octap-proxy}
limit=6000000
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail()
{
	echo "$OCTAP_PROXY $*"
	exit 1
}

! readelf -lW "$OCTAP_PROXY" | grep -w INTERP || fail 'needs a loader'
! readelf -dW "$OCTAP_PROXY" | grep -w NEEDED || fail 'needs a library'
! readelf -SW "$OCTAP_PROXY" | grep -wE '\.symtab|\.debug_info' ||
	fail 'is not stripped'
size=$(stat -c %s "$OCTAP_PROXY")
((size < limit)) || fail "has $size bytes, $limit are too many"
! grep -aF "$PWD" "$OCTAP_PROXY" || fail 'names the folder it was built in'

elsewhere=$tmp/a/longer/path
mkdir -p "$elsewhere/build/static"
cp -r Makefile shared proxy "$elsewhere"
if [[ ${FULL:-} ]]; then
	"$elsewhere/proxy/static_libs.sh" "$elsewhere/build/static/libs"
else
	ln -s "$PWD/build/static/libs" "$elsewhere/build/static/libs"
fi
make -s -j"$(nproc)" -C "$elsewhere" STATIC=1 build/static/bin/octap-proxy
cmp "$OCTAP_PROXY" "$elsewhere/build/static/bin/octap-proxy" ||
	fail 'is another when built elsewhere'
