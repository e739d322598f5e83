#!/usr/bin/env bash
# Twenty calls at once, several times: all are answered and recorded, each
# under a number of its own.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}" --chunk random:5 --delay 2
start_proxy
for round in 1 2 3; do
	agents=()
	for i in {1..20}; do
		ask "answer.$i" "$tmp/stream.json" \
			-H "x-session-id: $round.$i" &
		agents+=($!)
	done
	for agent in "${agents[@]}"; do
		check "an agent is content" wait "$agent"
	done
	for i in {1..20}; do
		check "answer $i" cmp "$tmp/answer.$i" \
			"$wire/vllm/text.plain.sse"
	done
done
trace >"$tmp/records"
check "numbers" cmp <(jq .turn "$tmp/records" | sort -n) <(seq 60)
check "sessions" equals "$(jq -r .session_id "$tmp/records" | sort -u |
	wc -l)" 60
check "every record is right" equals "$(jq -c '[.complete, .delivered,
	.completion_token_ids, .token_status]' "$tmp/records" | sort -u |
	wc -l)" 1
