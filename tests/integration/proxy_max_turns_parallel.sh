#!/usr/bin/env bash
# Calls under way count for --max-turns: parallel ones cannot exceed it.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}" --first-delay 300
start_proxy --max-turns 3
agents=()
for i in 1 2 3 4 5 6; do
	ask "answer.$i" "$tmp/stream.json" &
	agents+=($!)
done
wait "${agents[@]}"
check "three are the model's" equals \
	"$(grep -liv synthetic "$tmp"/answer.?.head | wc -l)" 6
check "three are not" equals \
	"$(grep -li '^x-octap-synthetic' "$tmp"/answer.?.head | wc -l)" 3
check_records 3
