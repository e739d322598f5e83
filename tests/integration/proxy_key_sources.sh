#!/usr/bin/env bash
# Where the upstream's key may come from, and what comes first.
. "$(dirname "$0")/lib.sh"

printf '\n key-in-file \r\n' >"$tmp/file"
for key in key-in-file key-in-env key-in-argv intercepted; do
	printf '%s' "$key" >"$tmp/$key"
done

# uses KEY: a proxy whose upstream takes only this one, given as options say
uses()
{
	start_upstream "${answers[@]}" --require-key "$tmp/$1"
	shift
	start_proxy --trace "$tmp/trace.$((proxies + 1))" "$@"
	ask answer "$tmp/whole.json"
	check_status answer 200
}

uses intercepted
uses key-in-file --upstream-api-key-file "$tmp/file"
uses key-in-file --upstream-api-key-file /dev/fd/9 9<"$tmp/file"
uses key-in-file --upstream-api-key-file <(cat "$tmp/file")
UPSTREAM_API_KEY=key-in-env uses key-in-env
OPENCODE_UPSTREAM_API_KEY=key-in-env uses key-in-env
OPENCODE_UPSTREAM_API_KEY=key-in-env UPSTREAM_API_KEY=other uses key-in-env
OPENCODE_UPSTREAM_API_KEY='' UPSTREAM_API_KEY=key-in-env uses key-in-env
refute "no warning" has_line "$PROXY_LOG" warn

UPSTREAM_API_KEY=other uses key-in-argv --upstream-api-key key-in-argv
check "a warning" has_line "$PROXY_LOG" '--upstream-api-key-file'
uses key-in-argv --upstream-api-key=key-in-argv
UPSTREAM_API_KEY=other uses key-in-file --upstream-api-key other \
	--upstream-api-key-file "$tmp/file"
