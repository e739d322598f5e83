#!/usr/bin/env bash
# An upstream that quotes the key in a refusal does not give it to the agent,
# nor to the trace; the rest of its words pass.
. "$(dirname "$0")/lib.sh"

key=sk-secret-0123456789
printf '%s' "$key" >"$tmp/key"
printf '{"error":{"message":"Incorrect API key %s: see %s"}}' "$key" "$key" \
	>"$tmp/error"
start_upstream --status 401 --body "$tmp/error" --stream "$tmp/error"
start_proxy --upstream-api-key-file "$tmp/key"
for body in whole stream; do
	ask "$body" "$tmp/$body.json"
	check_status "$body" 401
	check "$body: the key is masked" equals "$(cat "$tmp/$body")" \
		"$(sed "s/$key/********************/g" "$tmp/error")"
done
check_records 2
refute "the key in the trace" grep -F "$key" <(trace)
