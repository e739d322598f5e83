#!/usr/bin/env bash
# No call waits for the server's list of models, and nothing depends on what
# comes instead of one.
. "$(dirname "$0")/lib.sh"

mkdir "$tmp/saved"
traces=0

# probed JSON OPTION...: a server that answers so for its list of models
probed()
{
	local models=$1

	shift
	start_upstream "${answers[@]}" --models "$models" \
		--save-requests "$tmp/saved" "$@"
	traces=$((traces + 1))
	TRACE=$tmp/$traces.jsonl.zst
	start_proxy
}

# answered NAME: a call gets its answer, having asked as of any server.
answered()
{
	ask "$1" "$tmp/stream.json" --max-time 2
	check_status "$1" 200
	check_record "$2" '.token_status == "exact" and
		.request.return_token_ids and .request.logprobs'
}

# knows JSON: what it now takes the server for
knows()
{
	equals "$(health | jq -c .dialect)" "$1"
}

list='{"object":"list","data":[{"id":"m","object":"model","owned_by"'
printf '%s:"openai"}]}' "$list" >"$tmp/openai"
printf '%s:"openai"},%*s{}]}' "$list" 2000000 '' >"$tmp/huge"
printf '%s:["openai"]}]}' "$list" >"$tmp/odd"
printf '%s' "$list" >"$tmp/cut"
printf '{"object":"list","data":[{"id":"m","object":"model"}]}' >"$tmp/absent"
printf '{"data":[]}' >"$tmp/empty"
printf '<html>' >"$tmp/page"

for body in huge odd cut absent empty page; do
	probed "{\"body\":\"$tmp/$body\"}"
	answered "$body" 1
	check "nothing is known by: $body" knows null
	stop_proxy
	kill_upstream
done
for code in 401 403 404 405 500; do
	probed "{\"status\":$code,\"body\":\"$tmp/openai\"}"
	answered "$code" 1
	check "nothing is known by a $code" knows null
	stop_proxy
	kill_upstream
done

# A slow one is not waited for, and counts once it is there.
probed "{\"first-delay\":1500,\"body\":\"$tmp/openai\"}"
answered slow 1
check "not yet" knows null
wait_until 10 "the list" knows '"openai"'
ask later "$tmp/stream.json"
check_record 2 '.request | has("return_token_ids") | not'
stop_proxy
kill_upstream

# One that is not given now is asked for again, a second later.
for code in 429 503; do
	probed "{\"status\":$code,\"body\":\"$tmp/openai\"}"
	answered now 1
	check "not by a $code" knows null
	kill_upstream
	start_upstream "${answers[@]}" --owned-by vllm --port "${UPSTREAM##*:}"
	sleep 1.1
	ask again "$tmp/stream.json"
	wait_until 10 "the list after a $code" knows '"vllm"'
	stop_proxy
	kill_upstream
done
