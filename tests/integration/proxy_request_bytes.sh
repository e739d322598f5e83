#!/usr/bin/env bash
# What goes upstream is the agent's body, byte for byte, but for the members
# that the proxy puts in; and so it is recorded.
. "$(dirname "$0")/lib.sh"

ours='"logprobs":true,"top_logprobs":5,"return_token_ids":true,'
usage='"stream_options":{"include_usage":true},'
tool='{"type":"function","function":{"name":"f","parameters":{"type":"object",'
tool+='"properties":{"logprobs":{"type":"boolean"},"stream":false,'
tool+='"stream_options":{},"max_tokens":{"type":"integer"}}}}}'
messages='"messages":[{"role":"user","content":"hi"}]'

mkdir "$tmp/saved"
start_upstream "${answers[@]}" --save-requests "$tmp/saved"
start_proxy
number=0

# unchanged "what" BODY-FILE MEMBERS
unchanged()
{
	number=$((number + 1))
	ask answer "$2"
	check_status answer 200
	sed "0,/{/s//{$3/" "$2" >"$tmp/expected"
	check "$1: sent upstream" cmp "$tmp/saved/$number.body" "$tmp/expected"
	trace | sed -n "${number}p" >"$tmp/record"
	{
		tr '\r\n' '  ' <"$tmp/expected"
		printf ',"response":'
	} >"$tmp/recorded"
	at=$(grep -abo '"request":' "$tmp/record" | cut -d: -f1)
	check "$1: recorded" cmp -i $((at + 10)):0 \
		-n "$(stat -c %s "$tmp/recorded")" "$tmp/record" "$tmp/recorded"
}

text()
{
	printf '%s' "$2" >"$tmp/body"
	unchanged "$1" "$tmp/body" "$ours"
}

text "a large integer" '{"seed":9007199254740993,'"$messages"'}'
text "a long fraction" '{"temperature":0.30000000000000004,'"$messages"'}'
text "odd numbers" '{"a":1E+2,"b":-0.0,"c":1e400,"d":0.10,'"$messages"'}'
text "NUL" '{"messages":[{"role":"user","content":"a\u0000b"}]}'
text "lone surrogates" '{"messages":[{"content":"\ud800 \udfff\ud83d"}]}'
text "escapes" '{"messages":[{"content":"\/\u00e9\u2028\"\\ é 😀"}]}'
text "duplicate keys" '{"a":1,"model":"b","a":2,'"$messages"',"model":"c"}'
text "names in capitals" '{"Logprobs":false,"STREAM":true,'"$messages"'}'
text "a tool with our names" '{"tools":['"$tool"'],'"$messages"'}'
text "spaces and line breaks" $' \n{ "model"\t: "m" ,\r\n '"$messages"$' }\n\n'

request "$with_usage" >"$tmp/body"
unchanged "a stream with usage" "$tmp/body" "$ours"
request '"stream":true' >"$tmp/body"
unchanged "a stream without usage" "$tmp/body" "$ours$usage"

message='{"role":"user","content":"0123456789 \u0000 0.30000000000000004"},'
{
	printf '{"model":"m","messages":['
	seq -f "$message%.0f," 75000
	printf '1],"stream":true}'
} >"$tmp/body"
check "size" test "$(stat -c %s "$tmp/body")" -gt 5000000
unchanged "5 MB of messages" "$tmp/body" "$ours$usage"

number=$((number + 1))
ask answer "$tmp/body" -H 'Transfer-Encoding: chunked'
check "a chunked body" cmp "$tmp/saved/$number.body" "$tmp/expected"

# Servers that decode leniently take this; the record keeps it all the same.
number=$((number + 1))
printf '{"messages":[{"content":"\xff\xc0\x80"}]}' >"$tmp/body"
sed "s/{/{$ours/" "$tmp/body" >"$tmp/expected"
ask answer "$tmp/body"
check_status answer 200
check "bad UTF-8: sent upstream" cmp "$tmp/saved/$number.body" "$tmp/expected"
trace | sed -n "${number}p" | jq -r .request_base64 | base64 -d >"$tmp/recorded"
check "bad UTF-8: recorded" cmp "$tmp/recorded" "$tmp/expected"
