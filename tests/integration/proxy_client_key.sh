#!/usr/bin/env bash
# With --client-key-file only callers with that key are answered.
. "$(dirname "$0")/lib.sh"

printf 'the-client-key\n' >"$tmp/key"
start_upstream "${answers[@]}"
start_proxy --client-key-file "$tmp/key"

ask none "$tmp/stream.json"
check_status none 401
check_error "$tmp/none"
for wrong in 'Authorization: Bearer wrong' 'Authorization: the-client-key' \
	'Authorization: Bearer the-client-ke' 'X-Api-Key: wrong' \
	'Authorization: Basic the-client-key' \
	'Authorization: Bearer the-client-keyy'; do
	ask wrong "$tmp/stream.json" -H "$wrong"
	check_status wrong 401
done
curl -sS -o "$tmp/models" -D "$tmp/models.head" "$URL/v1/models"
check_status models 401

for right in 'Authorization: Bearer the-client-key' \
	'authorization: bearer the-client-key' 'X-Api-Key: the-client-key'; do
	ask right "$tmp/stream.json" -H "$right"
	check_status right 200
done
check_records 3

health >"$tmp/health"
check_json "$tmp/health" '. == {"status":"ok"}'
curl -sS -H 'X-Api-Key: the-client-key' "$URL/healthz" >"$tmp/health"
check_json "$tmp/health" '.turns == 3'
refute "the key is nowhere" grep -r the-client-key "$PROXY_LOG" "$PROXY_OUT"
