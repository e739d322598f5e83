#!/usr/bin/env bash
# Connections upstream are kept; one that the server closed meanwhile is
# replaced, which the record counts.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}" --keep-alive-timeout 300
start_proxy
for pause in 0 0 0.6 0.3 0.3 0.3 0; do
	sleep "$pause"
	ask answer "$tmp/stream.json"
	check "the answer" cmp "$tmp/answer" "$wire/vllm/text.plain.sse"
done
check_records 7
check "every sending is recorded" equals \
	"$(grep -c '"request"' "$UPSTREAM_LOG")" \
	"$(trace | jq -s 'map(.upstream.attempts) | add')"

# On a kept connection this is a server that closed it just now.
printf '{}\n{"fault":"close-before-head"}\n{}\n' >"$tmp/script"
start_upstream "${answers[@]}" --script "$tmp/script"
start_proxy --trace "$tmp/again.jsonl"
ask answer "$tmp/stream.json"
ask answer "$tmp/stream.json"
check_status answer 200
check_json <(sed -n 2p "$tmp/again.jsonl") \
	'.complete and .upstream.attempts == 2'
