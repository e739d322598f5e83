#!/usr/bin/env bash
# A task's metadata is passed on as it stands.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
metadata='{"id": 9007199254740993, "huge":1e400,"tenth":0.30000000000000004,
	"A":1,"a":2,"text":"ü \ud83d\ude00 \/","list":[-0,1E5,{}]}'
printf '{"instruction":"@call","metadata":%s}' "$metadata" >"$tmp/task.json"
rollout raw
check_result '.outcome == "completed" and .metadata.a == 2'
check "as it stands" grep -qF "$(head -n 1 <<<"$metadata")" "$out/result.json"
check "as it stands" grep -qF "$(tail -n 1 <<<"$metadata")" "$out/result.json"
printf '{"instruction":"@call","metadata":null}' >"$tmp/task.json"
rollout none
check_result '.metadata == {}'
