#!/usr/bin/env bash
# The ready line, --help, --version and the exit status of wrong command lines.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}"
start_proxy --rollout-id roll-7 --verbose
check "one line when ready" equals "$(wc -l <"$PROXY_OUT")" 1
check_json "$PROXY_OUT" '.event == "listening" and .host == "127.0.0.1" and
	.port > 0 and (.version | length > 0) and .schema == "octap.turn/1"'
ask answer "$tmp/stream.json"
check_record 1 '.rollout_id == "roll-7"'
check "--verbose" has_line "$PROXY_LOG" 'turn 1'
stop_proxy
check_json <(tail -n 1 "$PROXY_OUT") '.event == "stopped" and .turns == 1 and
	.delivered == 1 and .in_flight == 0 and .trace_errors == 0'

"$OCTAP_PROXY" --version >"$tmp/version"
check "--version" grep -qxE 'octap-proxy [0-9]+\.[0-9]+\.[0-9]+' "$tmp/version"
"$OCTAP_PROXY" --help >"$tmp/help"
check "--help" grep -q -- '--upstream-url URL' "$tmp/help"

# exits STATUS "said on stderr" OPTION...
exits()
{
	local expected=$1 said=$2

	shift 2
	status=0
	timeout 10 "$OCTAP_PROXY" "$@" >"$tmp/stdout" 2>"$tmp/stderr" ||
		status=$?
	check "exit status of $*" equals "$status" "$expected"
	check "nothing on stdout" test ! -s "$tmp/stdout"
	check "stderr of $*" has_line "$tmp/stderr" "$said"
}

good=(--upstream-url "$UPSTREAM" --port 0 --trace "$tmp/other.jsonl")
exits 2 '--upstream-url is missing'
exits 2 'http://' --upstream-url ftp://host
exits 2 'password' --upstream-url http://user:word@host
exits 2 'query' --upstream-url 'http://host/v1?a=b'
exits 2 '--nonsense' "${good[@]}" --nonsense
exits 2 "'more'" "${good[@]}" more
exits 2 '--port' "${good[@]}" --port 65536
exits 2 '--port' "${good[@]}" --port x
exits 1 'no address of this machine' "${good[@]}" --host 999.1.1.1 \
	--trace "$tmp/host.jsonl"
exits 2 'needs a value' "${good[@]}" --port
exits 2 '--max-tokens-cap' "${good[@]}" --max-tokens-cap 0
exits 2 '--max-turns' "${good[@]}" --max-turns -1
exits 2 '--token-ids' "${good[@]}" --token-ids maybe
exits 2 'between 0.001 and' "${good[@]}" --request-timeout 0
exits 2 '--sampling' "${good[@]}" --sampling '{"temperature":"hot"}'
exits 2 '--sampling' "${good[@]}" --sampling '{"model":1}'
exits 2 '--sampling' "${good[@]}" --sampling '[1]'
exits 2 '--upstream-api-key-file' "${good[@]}" \
	--upstream-api-key-file "$tmp/absent"
exits 2 'empty' "${good[@]}" --client-key-file /dev/null
for wrong in 0:0 1000 1000:0 root:root 1000:1000:1000 : 1000: -1:1; do
	exits 2 '--run-as' "${good[@]}" "--run-as=$wrong"
done
check "no trace was begun" test ! -e "$tmp/other.jsonl"
exits 1 'trace' "${good[@]}" --trace "$tmp/absent/trace.jsonl"
exits 1 'trace' "${good[@]}" --trace "$tmp"
exits 1 'listen' "${good[@]}" --port "${UPSTREAM##*:}"
