#!/usr/bin/env bash
# A whole answer through the proxy is what the server sends unasked, byte for
# byte: every recorded pair, in chunks and with a length.
. "$(dirname "$0")/lib.sh"

pairs=()
for asked in "$wire"/*/*.asked.json; do
	# What SGLang puts there for members that the proxy does not ask for.
	grep -q '"sglext"' "$asked" || pairs+=("${asked%.asked.json}")
done
check "there are pairs" test "${#pairs[@]}" -gt 15

for pair in "${pairs[@]}"; do
	printf '{"body":"%s","chunk":"random:3"}\n' "$pair.asked.json"
	printf '{"body":"%s","content-length":true}\n' "$pair.asked.json"
done >"$tmp/script"

start_upstream --script "$tmp/script"
start_proxy
for pair in "${pairs[@]}"; do
	for framing in chunks length; do
		ask got "$tmp/whole.json"
		check "$pair, $framing" cmp "$tmp/got" "$pair.plain.json"
	done
done
check_records $((2 * ${#pairs[@]}))
