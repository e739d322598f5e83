#!/usr/bin/env bash
# The prompt's ids of each turn are held against the prompt and completion of
# the one before in the same session.
. "$(dirname "$0")/lib.sh"

# says NAME PROMPT-IDS ID: a stream of one token
says()
{
	cat >"$tmp/$1.sse" <<-END_OF_STREAM
		data: {"id":1,"choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a","logprob":-1}]},"finish_reason":"stop","token_ids":[$3]}],"prompt_token_ids":[$2]}

		data: {"id":1,"choices":[],"usage":{"completion_tokens":1}}

		data: [DONE]

	END_OF_STREAM
	printf '{"stream":"%s"}\n' "$tmp/$1.sse" >>"$tmp/script"
}

says first '1,2,3' 4
says other '1,7' 8
says second '1, 2, 3, 4, 5' 6
says broken '1,2,9,4,5,6,7' 8
says shorter '1,2,9' 1
says after '1,2,9,1' 2
printf '{"stream":"%s","fault":"cut","fault-after":60}\n' "$tmp/after.sse" \
	>>"$tmp/script"
says last '1,2,9,1,2,3' 4
start_upstream --script "$tmp/script"
start_proxy

# turn N JQ-FILTER [SESSION]
turn()
{
	request "$with_usage,\"seed\":$1,\"tools\":[{\"type\":\"function\"}]" \
		>"$tmp/body"
	ask answer "$tmp/body" -H "x-session-id: ${3:-ses_1}" 2>/dev/null ||
		true
	wait_until 5 "record $1" has_records "$1"
	check_record "$1" "$2"
}

turn 1 '.prefix_of == null and .prefix_break == null and
	.prompt_token_ids == [1, 2, 3]'
turn 2 '.prefix_of == null and .prefix_break == null' ses_2
turn 3 '.prefix_of == 1 and .prefix_break == null and
	.prompt_token_ids == [1, 2, 3, 4, 5]'
turn 4 '.prefix_of == 3 and .prefix_break == 2'
turn 5 '.prefix_of == 4 and .prefix_break == 3'
turn 6 '.prefix_of == 5 and .prefix_break == null'
# One that broke off is none to go on from.
turn 7 '.complete == false and .prefix_of == null'
turn 8 '.prefix_of == 6 and .prefix_break == null'
