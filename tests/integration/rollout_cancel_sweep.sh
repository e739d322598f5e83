#!/usr/bin/env bash
# Ctrl-C at any moment: cancelled, or too late; nothing left in any case.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}" --delay 5
task '{"setup":["sleep 0.02 & true"],"files":{"a":"b"},"verify":["sleep 0.02",
	"true"]}' <<'END'
@call
@background sleep 990
@sh echo x >y
END

rollout whole
milliseconds=$((10#$(jq '.wall_s * 1000 | floor' "$out/result.json") + 20))
cancelled=0

sweep()
{
	local i delay

	for i in {0..24}; do
		delay=$((i * milliseconds / 24))
		begin_rollout "after_$delay.$round"
		sleep "$((delay / 1000)).$(printf %03d $((delay % 1000)))"
		kill -INT "$octap" 2>/dev/null || true
		end_of "$octap" 15
		if ((status == 130)) && [[ ! -e $out/result.json ]]; then
			# Before it had begun.
			assert_nothing_left
			continue
		fi
		check_ended
		check "$name: exit code" \
			test "$status" = 0 -o "$status" = 130
		((status == 0)) || cancelled=$((cancelled + 1))
	done
}

# Rollouts are faster where the machine is less busy than it was at first.
for round in 1 2 3; do
	sweep
	((cancelled < 8)) || break
	milliseconds=$((milliseconds / 2))
done
check "cancelled $cancelled times" test "$cancelled" -ge 8
