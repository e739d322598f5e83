#!/usr/bin/env bash
# A body beyond the limit gets 413 and reaches nobody; so does an endless head.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}"
start_proxy
head -c 68000000 /dev/zero >"$tmp/huge"
ask answer "$tmp/huge" || true
check_status answer 413
ask answer "$tmp/huge" -H 'Transfer-Encoding: chunked' -H 'Expect:' || true
check_status answer 413
ask answer "$tmp/stream.json" -H "X-Long: $(printf '%070000d' 0)" || true
check "status of a long head" grep -qE '^HTTP[^ ]* 4' "$tmp/answer.head"

ask answer "$tmp/stream.json"
check "the next call" cmp "$tmp/answer" "$wire/vllm/text.plain.sse"
check_records 1
