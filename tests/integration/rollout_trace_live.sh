#!/usr/bin/env bash
# The trace can be read whole at any time while the rollout runs.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
task <<'END'
@call
@sh touch one; while ! test -e go; do sleep 0.01; done
@call
@sh touch two; while ! test -e on; do sleep 0.01; done
@calls 20
END
begin_rollout live
use_trace
wait_until 20 "the first call" file_exists workdir/one
check "one record" equals "$(trace | jq -c .turn)" 1
touch "$(sandbox_home)/workdir/go"
wait_until 20 "the second call" file_exists workdir/two
check "two records" equals "$(trace | jq -c .token_status | tr '\n' ' ')" \
	'"exact" "exact" '
check "octap shows it" "$OCTAP" trace show "$TRACE" >"$tmp/shown"
check "both turns" equals "$(wc -l <"$tmp/shown")" 3
touch "$(sandbox_home)/workdir/on"
end_rollout
check_records 22
