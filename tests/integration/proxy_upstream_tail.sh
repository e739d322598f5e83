#!/usr/bin/env bash
# A call whose [DONE] came is not broken off for want of its last bytes, or the
# connection could not be used again; but they are not waited for endlessly.
. "$(dirname "$0")/lib.sh"

printf '{"delay":50}\n{"delay":50}\n{"delay":60000}\n' >"$tmp/script"
start_upstream "${answers[@]}" --script "$tmp/script"
start_proxy
for call in 1 2; do
	ask answer "$tmp/stream.json"
	check "the answer" cmp "$tmp/answer" "$wire/vllm/text.plain.sse"
	wait_until 2 "the end of the answer" upstream_saw answered "$call"
done
start=${EPOCHREALTIME/./}
ask answer "$tmp/stream.json"
check "the answer" cmp "$tmp/answer" "$wire/vllm/text.plain.sse"
took=$(((${EPOCHREALTIME/./} - start) / 1000))
check "the agent did not wait ($took ms)" test "$took" -lt 800
wait_until 3 "the end of patience" upstream_saw peer_gone 3
check_record 3 '.complete and .delivered and .upstream.attempts == 1'

# Nor does the shutdown wait for it.
ask answer "$tmp/stream.json"
start=${EPOCHREALTIME/./}
stop_proxy
took=$(((${EPOCHREALTIME/./} - start) / 1000))
check "the shutdown did not wait ($took ms)" test "$took" -lt 800
