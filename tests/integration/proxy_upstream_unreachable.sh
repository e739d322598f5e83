#!/usr/bin/env bash
# No answer from the upstream: 502 with an error object, recorded.
. "$(dirname "$0")/lib.sh"

cat >"$tmp/script" <<-END
	{"fault":"close-before-head"}
	{"fault":"half-head"}
	{"fault":"cut","fault-after":300}
	{"fault":"cut","fault-after":300,"content-length":true}
	{"fault":"rst","fault-after":300}
END
start_upstream "${answers[@]}" --script "$tmp/script"
# No list of models is asked for, whose connection would be used again.
start_proxy --dialect vllm

# unreachable TURN BODY-FILE
unreachable()
{
	ask answer "$2"
	check_status answer 502
	check "type" grep -qi '^content-type: application/json' \
		"$tmp/answer.head"
	check_error "$tmp/answer"
	check_record "$1" '.response.choices == [] and .complete == false and
		.delivered == true and (.abort_reason | length > 0) and
		(.response.upstream_error | length > 0)'
}

for turn in 1 2; do
	unreachable "$turn" "$tmp/stream.json"
	# It may have been acted upon.
	check_record "$turn" '.upstream.attempts == 1'
	refute "it was sent again" upstream_saw request $((turn + 1))
done
for turn in 3 4 5; do
	unreachable "$turn" "$tmp/whole.json"
	check_record "$turn" '.upstream.status == 200'
done
kill_upstream
unreachable 6 "$tmp/stream.json"
unreachable 7 "$tmp/whole.json"
check_record 7 '.upstream.status == null and .upstream.attempts == 0 and
	.response.upstream_status == null'
check_records 7
