#!/usr/bin/env bash
# A body that is no JSON object is refused without asking the upstream, and
# recorded as it came; what is no HTTP is refused, too.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}"
start_proxy
turn=0
for body in '' '[1]' '{"a":1' '{"a":1}x' '{"a":01}' "{'a':1}" '{"a":"\x"}' \
	$'{"a":"\t"}'; do
	turn=$((turn + 1))
	printf '%s' "$body" >"$tmp/body"
	ask answer "$tmp/body"
	check_status answer 400
	check_error "$tmp/answer"
	check_record "$turn" '.complete == false and .upstream.attempts == 0 and
		.response.choices == [] and .upstream.status == null'
	[[ $body == '[1]' || -z $body ]] ||
		check "turn $turn: the body is recorded" cmp "$tmp/body" \
			<(jq -r .request_base64 "$tmp/record.$turn" | base64 -d)
done
refute "the upstream was asked" has_line "$UPSTREAM_LOG" '"request"'

exec 3<>"/dev/tcp/127.0.0.1/${URL##*:}"
printf 'nonsense\r\n\r\n' >&3
check "what is no HTTP" grep -q 400 <(timeout 5 cat <&3)
exec 3>&-
ask answer "$tmp/stream.json"
check_status answer 200
