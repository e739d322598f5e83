#!/usr/bin/env bash
# octap replay answers by kind and order, and says so when there is no more.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

# A recorded rollout with calls of several kinds between each other.
numbered()
{
	sed "s/Hello/answer $1/" "$wire/vllm/text.asked.sse" >"$tmp/$1.sse"
	printf '{"stream":"%s"}\n' "$tmp/$1.sse"
}
for i in {1..6}; do numbered "$i"; done >"$tmp/script"
start_upstream --script "$tmp/script"
task <<'END'
@title-call
@call
@sub-call
@call
@sub-call
@call
END
rollout recorded
use_trace
check "kinds" equals "$(trace | jq -r .kind | tr '\n' ' ')" \
	'title agent subagent agent subagent agent '
zstdcat -q "$TRACE" >"$tmp/trace.jsonl"

tools='"tools":[{"type":"function","function":{"name":"bash"}}]'
system='"messages":[{"role":"system","content":"You are a title generator"}]'
printf '{"model":"m","stream":true,%s,"messages":[]}' "$tools" >"$tmp/agent"
printf '{"model":"m","stream":true,%s}' "$system" >"$tmp/title"
sub=(-H 'x-parent-session-id: ses_1')

# The text of a stream.
said()
{
	sed -n 's/^data: {/{/p' "$1" | jq -j '.choices[]?.delta.content // empty'
}

# answered N BODY [CURL OPTION]...
answered()
{
	ask answer "${@:2}"
	check_status answer 200
	check "answer $1" equals "$(said "$tmp/answer")" "answer $1 world!"
}

# exhausted WORD BODY [CURL OPTION]...
exhausted()
{
	ask answer "${@:2}"
	check_status answer 404
	check_error "$tmp/answer"
	check "it names the kind" has_line "$tmp/answer" "$1"
}

for file in "$TRACE" "$tmp/trace.jsonl"; do
	start_replay "$file"
	check_json "$REPLAY_OUT" '.turns == 6'
	answered 2 "$tmp/agent"
	answered 3 "$tmp/agent" "${sub[@]}"
	answered 5 "$tmp/agent" "${sub[@]}"
	answered 4 "$tmp/agent"
	answered 1 "$tmp/title"
	answered 6 "$tmp/agent"
	exhausted agent "$tmp/agent"
	exhausted title "$tmp/title"
	exhausted subagent "$tmp/agent" "${sub[@]}"
	exhausted other "$tmp/whole.json"
done

curl -sS "$URL/v1/models" >"$tmp/models"
check_json "$tmp/models" '.data[0].id == "qwen3-8b"'
check "other paths" equals "$(curl -sS -o /dev/null -w '%{http_code}' \
	"$URL/v1/completions")" 404

# What it cannot read.
for file in "$tmp/nothing" "$0" /dev/null "$tmp"; do
	status=0
	"$OCTAP" replay "$file" >"$tmp/stdout" 2>"$tmp/stderr" || status=$?
	check "$file: exit code" equals "$status" 1
	check "$file: it says so" has_line "$tmp/stderr" "$file"
	check "$file: stdout" equals "$(cat "$tmp/stdout")" ''
done

# A whole rollout from its own trace: the same answers.
start_replay "$TRACE"
rollout again
check_result '.outcome == "completed" and (.proxy_turns | length == 6)'
check "the same tokens" cmp \
	<(trace | jq -c '.kind, .completion_token_ids, .per_token_logps') \
	<(zstdcat -q "$out/proxy_trace.jsonl.zst" |
		jq -c '.kind, .completion_token_ids, .per_token_logps')
