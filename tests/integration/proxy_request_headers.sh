#!/usr/bin/env bash
# Headers upstream: the agent's own, without its key and what belongs to its
# connection; the record names the session.
. "$(dirname "$0")/lib.sh"

mkdir "$tmp/saved"
printf 'upstream-key\n' >"$tmp/key"
start_upstream "${answers[@]}" --save-requests "$tmp/saved" \
	--require-key "$tmp/key"
start_proxy --upstream-api-key-file "$tmp/key"
ask answer "$tmp/stream.json" -A 'opencode/1.18.33 runtime/bun/1.3.14' \
	-H 'Authorization: Bearer agent-key' -H 'x-api-key: agent-key' \
	-H 'api-key: agent-key' -H 'Proxy-Authorization: Basic agent-key' \
	-H 'X-Session-Id: ses_1' -H 'x-session-affinity: ses_1' \
	-H 'x-parent-session-id: ses_0' -H 'OpenAI-Organization: org' \
	-H 'Accept-Encoding: gzip, deflate, br, zstd' \
	-H 'Connection: keep-alive, X-Of-This-Hop' -H 'X-Of-This-Hop: 1' \
	-H 'Keep-Alive: timeout=5' -H 'TE: trailers' \
	-H 'Expect: 100-continue' -H 'X-Empty;'
check_status answer 200
tr -d '\r' <"$tmp/saved/1.head" >"$tmp/head"

header()
{
	grep -iE "^$1:" "$tmp/head" | sed 's/^[^:]*: *//'
}

check "path" equals "$(head -n 1 "$tmp/head")" \
	'POST /v1/chat/completions HTTP/1.1'
check "key" equals "$(header authorization)" 'Bearer upstream-key'
check "host" equals "http://$(header host)" "$UPSTREAM"
check "length" equals "$(header content-length)" \
	"$(stat -c %s "$tmp/saved/1.body")"
check "user agent" equals "$(header user-agent)" \
	'opencode/1.18.33 runtime/bun/1.3.14'
check "session" equals "$(header x-session-id)" ses_1
check "affinity" equals "$(header x-session-affinity)" ses_1
check "parent" equals "$(header x-parent-session-id)" ses_0
check "organisation" equals "$(header openai-organization)" org
check "type" equals "$(header content-type)" application/json
check "an empty header" grep -qix 'x-empty: *' "$tmp/head"
refute "the agent's key" grep -q agent-key "$tmp/head"
for name in accept-encoding connection keep-alive te expect x-of-this-hop \
	proxy-authorization transfer-encoding; do
	refute "$name" grep -qi "^$name:" "$tmp/head"
done
check_record 1 '.session_id == "ses_1" and .parent_session_id == "ses_0" and
	.kind == "subagent"'
