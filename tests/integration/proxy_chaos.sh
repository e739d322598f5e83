#!/usr/bin/env bash
# Whatever servers and agents do at the same time, the proxy stays up, forgets
# no call and ends well.
. "$(dirname "$0")/lib.sh"

calls=160
faults=(none none none cut rst close-before-head half-head no-done no-finish
	error-event html json-for-stream hang-after-finish silent)
streams=("$wire"/*/*.asked.sse)
RANDOM=4711

for ((i = 0; i < calls; i++)); do
	printf '{"fault":"%s","fault-after":%d,"chunk":"random:%d",' \
		"${faults[RANDOM % ${#faults[@]}]}" $((RANDOM % 4000)) "$i"
	printf '"delay":%d,"first-delay":%d,"status":%d,"stream":"%s"}\n' \
		$((RANDOM % 8)) $((RANDOM % 50)) \
		$((RANDOM % 10 ? 200 : 503)) \
		"${streams[RANDOM % ${#streams[@]}]}"
done >"$tmp/script"

# One agent's calls, one after the other, often given up.
agent()
{
	local i body

	RANDOM=$1
	for ((i = 0; i < calls / 16; i++)); do
		body=$tmp/stream.json
		((RANDOM % 4)) || body=$tmp/whole.json
		ask "answer.$1" "$body" --max-time ".$((RANDOM % 900 + 100))" \
			2>/dev/null || true
	done
}

start_upstream "${answers[@]}" --script "$tmp/script"
start_proxy --request-timeout 0.5
agents=()
for i in {1..16}; do
	agent "$i" &
	agents+=($!)
done
wait "${agents[@]}"

idle()
{
	health | jq -e '.in_flight == 0' >/dev/null
}

wait_until 5 "all calls to end" idle
check "it recorded them all" equals \
	"$(trace | jq .turn | sort -n | uniq | wc -l)" "$(records)"
health >"$tmp/health"
check_json "$tmp/health" ".turns == $(records) and .trace_errors == 0"
check "what is not complete has a reason" equals \
	"$(trace | jq 'select(.complete != (.abort_reason == null)).turn')" ''
check "what is complete has a finish_reason" equals \
	"$(trace | jq 'select(.complete and .finish_reason == null).turn')" ''
ask answer "$tmp/stream.json" || true
check_records "$(($(jq .turns "$tmp/health") + 1))"
