#!/usr/bin/env bash
# No key can be seen from outside: not in the process list, its environment,
# what it prints, the trace, or the errors it answers with.
. "$(dirname "$0")/lib.sh"

key=sk-secret-0123456789
printf '%s\n' "$key" >"$tmp/key"
printf '{}\n{"status":401}\n{"fault":"html"}\n{"fault":"cut"}\n' >"$tmp/script"
printf '{"fault":"close-before-head"}\n' >>"$tmp/script"

show()
{
	tr '\0' '\n' 2>/dev/null <"/proc/$PROXY_PID/$1"
}

# hides "how it was given" OPTION...
hides()
{
	local how=$1

	shift
	TRACE=$tmp/trace.$proxies.jsonl
	start_upstream "${answers[@]}" --script "$tmp/script" \
		--require-key "$tmp/key"
	start_proxy --verbose "$@"
	refute "$how: process list" grep -F "$key" <(show cmdline)
	refute "$how: environment" grep -F "$key" <(show environ)
	for call in 1 2 3 4 5; do
		ask "answer.$call" "$tmp/stream.json" || true
	done
	kill_upstream
	ask answer.6 "$tmp/stream.json"
	health >"$tmp/answer.7"
	stop_proxy
	check "$how: records" equals "$(wc -l <"$TRACE")" 6
	refute "$how: what it says and writes" \
		grep -F "$key" "$PROXY_LOG" "$PROXY_OUT" "$TRACE" \
		"$tmp"/answer.*
}

hides file --upstream-api-key-file "$tmp/key"
hides argv --upstream-api-key "$key"
hides argv= --upstream-api-key="$key"
UPSTREAM_API_KEY=$key hides environment
OPENCODE_UPSTREAM_API_KEY=$key hides environment
OPENCODE_UPSTREAM_API_KEY=$key UPSTREAM_API_KEY=$key hides environment

# A wrong command line is answered without it, too.
refute "refused" "$OCTAP_PROXY" --upstream-api-key "$key" \
	--upstream-url "ftp://$key" 2>"$tmp/refusal"
refute "in the refusal" grep -F "$key" "$tmp/refusal"
