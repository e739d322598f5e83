#!/usr/bin/env bash
# An upstream's error passes unchanged, streamed or not, and is recorded.
. "$(dirname "$0")/lib.sh"

error='{"error": {"message": "Requested 9007199254740993 tokens\u0000", '
error+='"type": "BadRequestError", "param": null, "code": 400}, "x": 1.0}'
printf '%s' "$error" >"$tmp/error"
printf 'upstream is down\n' >"$tmp/text"
: >"$tmp/empty"
for status in 400 401 404 422 429 500; do
	printf '{"status":%s,"body":"%s","header":["Retry-After: 3"]}\n' \
		"$status" "$tmp/error"
done >"$tmp/script"
cat >>"$tmp/script" <<-END
	{"status":503,"header":"Content-Type: text/plain","body":"$tmp/text"}
	{"status":502,"body":"$tmp/empty"}
END

start_upstream --script "$tmp/script"
start_proxy
turn=0
for status in 400 401 404 422 429 500; do
	turn=$((turn + 1))
	ask answer "$tmp/stream.json"
	check_status answer "$status"
	check "body of $status" cmp "$tmp/answer" "$tmp/error"
	check "its headers" grep -qi '^retry-after: 3' "$tmp/answer.head"
	check "its type" grep -qi '^content-type: application/json' \
		"$tmp/answer.head"
	check_record "$turn" ".response.upstream_status == $status and
		.response.choices == [] and .upstream.status == $status and
		.response.upstream_error.error.type == \"BadRequestError\" and
		.finish_reason == null and .token_status == \"none\" and
		.complete == false and .delivered == true and
		(.abort_reason | length > 0)"
done
check "the error is recorded as it came" grep -qF "$error" "$tmp/record.1"

ask answer "$tmp/whole.json"
check_status answer 503
check "plain text" cmp "$tmp/answer" "$tmp/text"
check_record 7 '.response.upstream_error == "upstream is down\n"'
ask answer "$tmp/whole.json"
check_status answer 502
check "empty" cmp "$tmp/answer" "$tmp/empty"
check_record 8 '.response.upstream_status == 502'
