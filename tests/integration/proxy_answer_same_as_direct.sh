#!/usr/bin/env bash
# Status, headers and body are the same with the proxy and without it, for
# streams and whole answers; also for an agent that speaks HTTP/1.0.
. "$(dirname "$0")/lib.sh"

# What may differ: the date, and how each connection frames its bytes.
fields()
{
	sed 's/\r$//; s/^[^:]*:/\L&/; 1s/^\(HTTP[^ ]* [0-9]*\).*/\1/' \
		"$tmp/$1.head" | sed 's,^HTTP/1.[01],HTTP,' | sort |
		grep -vE '^(date|connection|transfer-encoding|content-length):'
}

same()
{
	local name=$1 body=$2 proxied=$URL

	shift 2
	ask "$name.proxied" "$body" "$@"
	URL=$UPSTREAM
	ask "$name.direct" "$body"
	URL=$proxied
	check "$name: body" cmp "$tmp/$name.direct" "$tmp/$name.proxied"
	check "$name: head" diff <(fields "$name.direct") \
		<(fields "$name.proxied")
}

extra=(--header 'X-Request-Id: a-b-c' --header 'Set-Cookie: a=1'
	--header 'Set-Cookie: b=2' --header 'openai-processing-ms: 12')

start_upstream "${answers[@]}" --chunk 100 "${extra[@]}" \
	--plain-if-unasked "$wire/vllm/text.plain.sse"
start_proxy
same stream "$tmp/stream.json"
same stream10 "$tmp/stream.json" --http1.0

for length in '' --content-length; do
	# shellcheck disable=SC2086
	start_upstream "${answers[@]}" "${extra[@]}" $length \
		--plain-if-unasked "$wire/vllm/text.plain.json"
	start_proxy --trace "$tmp/trace$length.zst"
	same "whole$length" "$tmp/whole.json"
	same "whole10$length" "$tmp/whole.json" --http1.0
done

start_upstream "${answers[@]}" --header 'Content-Type:' \
	--plain-if-unasked "$wire/vllm/text.plain.json"
start_proxy --trace "$tmp/untyped.zst"
same untyped "$tmp/whole.json"
