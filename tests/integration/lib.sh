# shellcheck shell=bash
#
# Common to the integration tests, each of which sources it first:
#
#	start_upstream --stream FILE ...	the fake model server
#	start_proxy --max-turns 2 ...		octap-proxy in front of it
#	ask NAME FILE [CURL OPTION]...		a call; see $tmp/NAME and .head
#	check "what must hold" COMMAND...
#	check_record N JQ-FILTER
#
# Everything started is ended on exit; a proxy that still runs then must end
# well, so every test is also one of its shutdown and, sanitized, of leaks.
set -euo pipefail
export LC_ALL=C

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
OCTAP_PROXY=${OCTAP_PROXY:-build/release/bin/octap-proxy}
OCTAP=${OCTAP:-build/release/bin/octap}
FAKE_UPSTREAM=${FAKE_UPSTREAM:-build/release/tests/fake/upstream}
FAKE_AGENT=${FAKE_AGENT:-build/release/tests/fake/agent}
export OCTAP FAKE_AGENT

wire=$PWD/tests/data/wire
tmp=$(mktemp -d)
TRACE=$tmp/trace.jsonl.zst
failure=
declare -A running=() # pid: what it is
upstreams=0
proxies=0

trap 'on_exit $?' EXIT
trap 'fail "ended by a signal"' TERM INT HUP

fail()
{
	failure="FAIL: $*"
	exit 1
}

check()
{
	local what=$1

	shift
	"$@" || fail "$what"
}

# The opposite: the command must not succeed.
refute()
{
	local what=$1

	shift
	! "$@" || fail "$what"
}

equals()
{
	[[ $1 == "$2" ]] || {
		printf 'got %q, expected %q\n' "$1" "$2" >&2
		return 1
	}
}

has_line()
{
	grep -qF -- "$2" "$1"
}

# wait_until SECONDS "what" COMMAND...
wait_until()
{
	local end=$((${EPOCHREALTIME/./} + $1 * 1000000)) what=$2

	shift 2
	until "$@"; do
		((${EPOCHREALTIME/./} < end)) || fail "waited for: $what"
		sleep 0.01
	done
}

has_ended()
{
	local stat

	stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 0
	[[ $stat == *") Z "* ]]
}

# end_of PID SECONDS: its exit status, in $status.
end_of()
{
	wait_until "$2" "the end of ${running[$1]}" has_ended "$1"
	reap "$1"
}

reap()
{
	status=0
	wait "$1" 2>/dev/null || status=$?
	unset "running[$1]"
}

# Have all that runs end well.  False: something does not.
end_all()
{
	local end=$((${EPOCHREALTIME/./} + 20 * 1000000)) pid name ok=0

	for pid in "${!running[@]}"; do
		kill -TERM "$pid" 2>/dev/null || true
	done
	for pid in "${!running[@]}"; do
		name=${running[$pid]}
		until has_ended "$pid"; do
			((${EPOCHREALTIME/./} < end)) || return 1
			sleep 0.01
		done
		reap "$pid"
		((status == 0)) || {
			failure+=" $name ended with status $status."
			ok=1
		}
	done
	return "$ok"
}

fakes_are_content()
{
	! grep -hs '"malformed"' "$tmp"/upstream.*.out &&
		! grep -hs . "$tmp"/upstream.*.err
}

on_exit()
{
	local pid was=$1

	trap - EXIT TERM INT HUP
	if ((was == 0)); then
		end_all || was=1
		fakes_are_content || was=1
	fi
	for pid in $(jobs -pr); do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	if ((was != 0 && was != 77)); then
		find "$tmp" -name '*.[1-9]*.out' -o -name '*.[1-9]*.err' |
			sort -V | tail -n 6 | xargs -r tail -n 8 >&2
		printf '%s\n' "$failure" >&2
	fi
	rm -rf "$tmp"
	exit "$was"
}

# listener NAME COMMAND...: start it; its port and pid, in $port and $pid.
listener()
{
	local name=$1

	shift
	"$@" >"$tmp/$name.out" 2>"$tmp/$name.err" &
	pid=$!
	running[$pid]=$name
	wait_until 20 "$name to listen" listens_or_ended "$pid" \
		"$tmp/$name.out"
	port=$(jq -r 'select(.event == "listening").port' "$tmp/$name.out")
	[[ $port ]] || fail "$name did not start"
}

listens_or_ended()
{
	has_line "$2" '"listening"' || has_ended "$1"
}

start_upstream()
{
	local pid port

	upstreams=$((upstreams + 1))
	listener "upstream.$upstreams" "$FAKE_UPSTREAM" "$@"
	UPSTREAM=http://127.0.0.1:$port
	UPSTREAM_PID=$pid
	UPSTREAM_LOG=$tmp/upstream.$upstreams.out
}

# Its options override those given here.
start_proxy()
{
	local pid port

	proxies=$((proxies + 1))
	listener "proxy.$proxies" "$OCTAP_PROXY" --upstream-url "$UPSTREAM" \
		--port 0 --trace "$TRACE" "$@"
	URL=http://127.0.0.1:$port
	PROXY_PID=$pid
	PROXY_LOG=$tmp/proxy.$proxies.err
	PROXY_OUT=$tmp/proxy.$proxies.out
	MEMORY=$(peak_memory)
}

stop_proxy()
{
	kill -TERM "$PROXY_PID"
	end_of "$PROXY_PID" 20
	check "the proxy ends with status 0" equals "$status" 0
}

kill_upstream()
{
	kill -KILL "$UPSTREAM_PID"
	end_of "$UPSTREAM_PID" 20
}

# A request's body; arguments are further members.
request()
{
	printf '{"model":"fake-model",%s"messages":[%s]}' \
		"${1:+$1,}" '{"role":"user","content":"hi"}'
}

with_usage='"stream":true,"stream_options":{"include_usage":true}'
request "$with_usage" >"$tmp/stream.json"
request >"$tmp/whole.json"

# ask NAME BODY-FILE [CURL OPTION]...; with curl's exit status.
ask()
{
	local name=$1 body=$2

	shift 2
	curl -sS -N --max-time 60 -o "$tmp/$name" -D "$tmp/$name.head" \
		-H 'Content-Type: application/json' --data-binary "@$body" \
		"$@" "$URL/v1/chat/completions"
}

# talk NAME TEXT: send it as it is, escapes as printf has them, and keep what
# comes back until the proxy closes the connection.  False: it does not.
talk()
{
	local connection status=0

	exec {connection}<>"/dev/tcp/127.0.0.1/${URL##*:}"
	(trap '' PIPE && printf '%b' "$2" >&"$connection") 2>/dev/null || true
	timeout 10 cat <&"$connection" >"$tmp/$1" || status=$?
	exec {connection}>&-
	cp "$tmp/$1" "$tmp/$1.head"
	sed -i '1,/^\r$/d' "$tmp/$1"
	((status == 0))
}

# What the fake model server says unless a test is about that.
answers=(--stream "$wire/vllm/text.asked.sse"
	--body "$wire/vllm/text.asked.json")

# The status of an answer.
status_of()
{
	# The last one: a 100 may have come before it.
	sed -n 's/^HTTP[^ ]* \([0-9]*\).*/\1/p' "$tmp/$1.head" | tail -n 1
}

check_status()
{
	check "status of $1" equals "$(status_of "$1")" "$2"
}

# check_json FILE JQ-FILTER
check_json()
{
	jq -e "$2" "$1" >/dev/null ||
		{ cat "$1" >&2; fail "$(basename "$1"): $2"; }
}

trace()
{
	zstdcat -q "$TRACE"
}

records()
{
	trace | wc -l
}

has_records()
{
	(($(records) == $1))
}

check_records()
{
	check "number of records" equals "$(records)" "$1"
}

# check_record N JQ-FILTER
check_record()
{
	trace | sed -n "$1p" >"$tmp/record.$1"
	check_json "$tmp/record.$1" "$2"
}

# What the fake says of its request number N has come.
upstream_saw()
{
	jq -e -n --arg event "$1" --argjson number "$2" \
		'any(inputs; .event == $event and .number == $number)' \
		"$UPSTREAM_LOG" >/dev/null
}

# An error's text must not make opencode ask again (its list of words), and
# must hold the object that the API's clients look for.
check_error()
{
	local words='rate.limit|too many requests|overloaded|unavailable'

	words+='|internal|server_error|provider returned|terminated'
	words+='|fetch failed|connection|econn|socket|timeout|try again'
	words+='|exhausted|[0-9]'
	check_json "$1" '.error | (.message | length > 0) and
		(.type | length > 0) and has("param") and has("code")'
	refute "no word in the error makes an agent retry" \
		grep -iE "$words" "$1"
}

health()
{
	curl -sS --max-time 10 "$URL/healthz"
}

# The proxy's largest resident memory so far, in KiB.
peak_memory()
{
	sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$PROXY_PID/status"
}

# check_memory KIB: how much the peak has grown since start_proxy, at most.
# Sanitized builds keep freed memory and shadows: no number holds there.
check_memory()
{
	local grown=$(($(peak_memory) - MEMORY))

	sanitized || check "memory grew by $grown KiB, at most $1" \
		test "$grown" -le "$1"
}

sanitized()
{
	grep -q __asan_init "$OCTAP_PROXY"
}
