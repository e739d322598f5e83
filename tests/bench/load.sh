#!/usr/bin/env bash
#
# octap-proxy under load, beside nginx, beside no proxy, and beside the Python
# program it descends from: same machine, same run, each measure taken from all
# in turn and its median shown.
#
# The ancestor is OpenEnv's envs/opencode_env/sandbox/interception.py; put it
# into build/ancestor (or name it by ANCESTOR) to have it measured.
set -euo pipefail

cd "$(dirname "$0")/../.."
OUT=${OUT:-build/release}
OCTAP_PROXY=${OCTAP_PROXY:-build/static/bin/octap-proxy}
ANCESTOR=${ANCESTOR:-build/ancestor/interception.py}
rounds=${ROUNDS:-3}
tmp=$(mktemp -d)
started=()
trap 'kill "${started[@]}" 2>/dev/null || true; wait; rm -rf "$tmp"' EXIT

declare -A port=() pid=() values=()
targets=(direct nginx octap)

start_server()
{
	exec 3< <(exec "$OUT/tests/bench/load_server")
	pid[direct]=$!
	started+=($!)
	read -r 'port[direct]' <&3
}

free_port()
{
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

wait_for_port()
{
	for _ in {1..100}; do
		if (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then
			return 0
		fi
		sleep 0.1
	done
	echo "nothing listens on port $1" >&2
	return 1
}

start_nginx()
{
	port[nginx]=$(free_port)
	cat >"$tmp/nginx.conf" <<-END
		worker_processes 1;
		master_process off;
		daemon off;
		pid $tmp/nginx.pid;
		error_log $tmp/nginx.log;
		events { worker_connections 1024; }
		http {
			access_log off;
			client_body_temp_path $tmp/body;
			proxy_temp_path $tmp/proxy;
			fastcgi_temp_path $tmp/fastcgi;
			uwsgi_temp_path $tmp/uwsgi;
			scgi_temp_path $tmp/scgi;
			upstream model {
				server 127.0.0.1:${port[direct]};
				keepalive 128;
			}
			server {
				listen 127.0.0.1:${port[nginx]};
				client_max_body_size 64m;
				client_body_buffer_size 8m;
				keepalive_requests 1000000;
				location / {
					proxy_pass http://model;
					proxy_http_version 1.1;
					proxy_set_header Connection "";
					proxy_buffering off;
				}
			}
		}
	END
	nginx -p "$tmp" -c "$tmp/nginx.conf" 2>/dev/null &
	pid[nginx]=$!
	started+=($!)
	wait_for_port "${port[nginx]}"
}

# start_proxy NAME: pid[NAME], port[NAME], trace $tmp/NAME.jsonl.zst
start_proxy()
{
	local line

	exec 4< <(exec "$OCTAP_PROXY" --port 0 \
		--upstream-url "http://127.0.0.1:${port[direct]}" \
		--trace "$tmp/$1.jsonl.zst" 2>"$tmp/$1.log")
	pid[$1]=$!
	started+=($!)
	read -r line <&4
	port[$1]=$(jq -r .port <<<"$line")
}

stop_proxy()
{
	kill "${pid[$1]}"
	wait "${pid[$1]}" 2>/dev/null || true
}

start_ancestor()
{
	local python=build/ancestor/venv/bin/python

	if [[ ! -e $ANCESTOR ]]; then
		echo "The ancestor is not measured: no $ANCESTOR."
		return 0
	fi
	if [[ ! -x $python ]] || ! "$python" -c \
		'import fastapi, httpx, uvicorn' 2>/dev/null; then
		if ! { python3 -m venv build/ancestor/venv &&
			"$python" -m pip install -q fastapi httpx uvicorn; } \
			>"$tmp/pip.log" 2>&1; then
			echo "The ancestor is not measured: its modules" \
				"cannot be installed."
			return 0
		fi
	fi
	port[ancestor]=$(free_port)
	"$python" "$ANCESTOR" --port "${port[ancestor]}" \
		--upstream-url "http://127.0.0.1:${port[direct]}" \
		--trace "$tmp/ancestor.jsonl" >"$tmp/ancestor.log" 2>&1 &
	pid[ancestor]=$!
	started+=($!)
	wait_for_port "${port[ancestor]}"
	targets+=(ancestor)
}

median()
{
	sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

cpu_ticks()
{
	awk '{ print $14 + $15 }' "/proc/$1/stat"
}

# measure MEASURE TARGET CLIENT-OPTION...: appends to $tmp/MEASURE.TARGET.NAME
measure()
{
	local what=$1 target=$2 line pair before ticks

	shift 2
	before=$(cpu_ticks "${pid[$target]}")
	line=$("$OUT/tests/bench/load_client" -p "${port[$target]}" "$@")
	ticks=$(($(cpu_ticks "${pid[$target]}") - before))
	# shellcheck disable=SC2001
	line+=" end_ms=$(sed 's/.*end50=\([0-9.]*\).*/\1/' <<<"$line" |
		awk '{ print $1 / 1000 }')"
	for pair in $line; do
		echo "${pair#*=}" >>"$tmp/$what.$target.${pair%%=*}"
		[[ $pair != events=* ]] || awk -v t="$ticks" -v n="${pair#*=}" \
			'BEGIN { print t * 10000 / n }' \
			>>"$tmp/$what.$target.cpu"
	done
}

# compare MEASURE CLIENT-OPTION...: all targets in turn, all rounds
compare()
{
	local what=$1 target

	shift
	for ((round = 0; round < rounds; round++)); do
		for target in "${targets[@]}"; do
			if [[ $target == ancestor && $what == unpaced ]]; then
				measure "$what" "$target" "$@" -n 200
			else
				measure "$what" "$target" "$@"
			fi
		done
	done
}

value_of()
{
	[[ ! -e $tmp/$1.$2.$3 ]] || median <"$tmp/$1.$2.$3"
}

# row TITLE MEASURE NAME FORMAT AIM: one line of the table
row()
{
	local title=$1 format=$4 aim=$5 target cells=''

	for target in direct nginx octap ancestor; do
		values[$target]=$(value_of "$2" "$target" "$3")
		[[ -n ${values[$target]} ]] || values[$target]=-
		cells+=" ${values[$target]}"
	done
	# shellcheck disable=SC2086 # a list of numbers
	awk -v title="$title" -v format="$format" -v aim="$aim" '{
		printf "%-30s", title
		for (i = 1; i <= 4; i++)
			printf "%12s", ($i == "-" ? "-" : sprintf(format, $i))
		printf "%8.2f   %s\n", $2 ? $3 / $2 : 0, aim
	}' <<<"$cells"
}

# What is there besides the direct way.
row_added()
{
	local title=$1 format=$4 aim=$5 target cells=''

	for target in direct nginx octap ancestor; do
		cells+=" $(value_of "$2" "$target" "$3")"
	done
	awk -v title="$title" -v format="$format" -v aim="$aim" '{
		printf "%-30s%12s", title, ""
		for (i = 2; i <= 4; i++)
			printf "%12s", (i > NF ? "-" : sprintf(format, $i - $1))
		printf "%8.2f   %s\n", $2 - $1 ? ($3 - $1) / ($2 - $1) : 0, aim
	}' <<<"$cells"
}

resident_mb()
{
	awk -v field="$2:" '$1 == field { printf "%.1f", $2 / 1024 }' \
		"/proc/$1/status"
}

# fact TITLE VALUE AIM
fact()
{
	printf '%-32s%54s   %s\n' "$1" "$2" "$3"
}

client()
{
	"$OUT/tests/bench/load_client" -p "${port[$1]}" "${@:2}"
}

size_of()
{
	stat -c %s "$1"
}

# What the trace of a rollout of 40 turns weighs: its records' lines, alone.
weigh()
{
	local title=$1 plain packed frame

	zstd -qdc "$tmp/$2.jsonl.zst" >"$tmp/plain"
	zstd -q1 --long -f "$tmp/plain" -o "$tmp/frame.zst"
	plain=$(size_of "$tmp/plain")
	packed=$(size_of "$tmp/$2.jsonl.zst")
	frame=$(size_of "$tmp/frame.zst")
	fact "$title, lines" "$(awk -v a="$plain" -v b="$packed" \
		'BEGIN { printf "%.2f MB, %.1f times smaller", a / 1e6, a / b }')" \
		"$3"
	fact "$title, one frame" "$(awk -v a="$frame" -v b="$packed" \
		'BEGIN { printf "%+.1f %%", (b / a - 1) * 100 }')" \
		"within 5 % of zstd -1 --long"
	"$OUT/tests/bench/bench_append" "$tmp/$2.jsonl.zst" \
		"$tmp/scratch.jsonl.zst" >"$tmp/append"
	fact "$title, append" "$(sed -E 's/.*median_ms=([^ ]*) max_ms=([^ ]*) rate=(.*)/\1 ms a record, at most \2 (\3 MB\/s)/' \
		"$tmp/append")" "in a thread of its own"
}

start_server
start_nginx
start_proxy octap
start_ancestor

compare unpaced -k 16 -n 10000
compare one -k 1 -n 300 -e 5000
compare many -k 64 -n 300 -e 5000
compare b30 -b 30000 -r 100
compare b300 -b 300000 -r 40
compare b1000 -b 1000000 -r 20
compare b5000 -b 5000000 -r 8

printf '\n%-30s%12s%12s%12s%12s%8s   %s\n' \
	"median of $rounds" direct nginx octap ancestor /nginx aim
row '16 streams, events/s' unpaced rate %.0f 'half of nginx; all of it'
row '  CPU per event, us' unpaced cpu %.2f ''
row '  last event to the end, ms' unpaced end_ms %.1f 'the record is written'
row '1 stream at 5 ms, p50 us' one delay50 %.0f ''
row_added '  added' one delay50 %.0f 'no more than nginx'
row '64 streams at 5 ms, p50 us' many delay50 %.0f ''
row_added '  added' many delay50 %.0f 'no more than nginx'
row '  p99 us' many delay99 %.0f ''
row_added '  added' many delay99 %.0f 'no more than nginx'
row '30 KB to the first byte, us' b30 first50 %.0f ''
row_added '  added' b30 first50 %.0f 'nginx and 20 us more'
row_added '300 KB, added' b300 first50 %.0f 'linear to 5 MB'
row_added '1 MB, added' b1000 first50 %.0f ''
row_added '5 MB, added' b5000 first50 %.0f ''

stop_proxy octap
start_proxy memory
echo
fact 'resident before any record' "$(resident_mb "${pid[memory]}" VmRSS) MB" \
	'4 MB'
client memory -n 100 >/dev/null
fact 'resident after one' "$(resident_mb "${pid[memory]}" VmRSS) MB" \
	'10 MB'
client memory -k 16 -n 32000 >/dev/null
fact '16 streams of 32,000 tokens' \
	"$(resident_mb "${pid[memory]}" VmHWM) MB at most" '64 MB'
sleep 1
fact 'resident afterwards' "$(resident_mb "${pid[memory]}" VmRSS) MB" \
	'as after one, and what zstd looks back on (9 MB)'
stop_proxy memory

git ls-files '*.c' | xargs cat >"$tmp/text"
start_proxy history
client history -r 40 -n 1 -b 8000 -t "$tmp/text" >/dev/null
stop_proxy history
start_proxy rollout
client rollout -r 40 -n 600 -b 8000 -t "$tmp/text" >/dev/null
stop_proxy rollout
echo
weigh '40 turns, no answers' history '40 times'
weigh '40 turns, 600 tokens each' rollout ''
