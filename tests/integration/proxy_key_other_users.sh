#!/usr/bin/env bash
# The key can be read by no other user without privileges: not from the proxy,
# not from who launched it, not from a file; nor from the proxy by its own user.
# Without root there is one user only: then the modes in /proc stand for others.
. "$(dirname "$0")/lib.sh"

key=sk-octap-$RANDOM$RANDOM$RANDOM
start_upstream "${answers[@]}" --first-delay 300
intruder=$tmp/intruder
cp "${INTRUDER:-$(dirname "$FAKE_UPSTREAM")/intruder}" "$intruder"
cp "$OCTAP_PROXY" "$tmp/proxy"
chmod 711 "$tmp" && chmod 755 "$intruder" "$tmp/proxy"

# Its environment holds the key as long as the proxy runs.
cat >"$tmp/launcher" <<'END'
#!/bin/bash
"$0.../proxy" "$@" &
trap 'kill -TERM $!' TERM
wait $!
wait $!
END
sed -i "s|\"\$0.../proxy\"|$tmp/proxy|" "$tmp/launcher"
chmod 755 "$tmp/launcher"

# as UID COMMAND...: another user without any capability
as()
{
	local uid=$1

	shift
	if ((EUID == 0)); then
		setpriv --reuid "$uid" --regid "$uid" --clear-groups \
			--inh-caps=-all --bounding-set=-all --no-new-privs "$@"
	else
		"$@"
	fi
}

# opens UID PATH...: prints those that this user can read from
opens()
{
	local uid=$1

	shift
	as "$uid" bash -c 'for path; do
		if [[ -d $path ]]; then ls "$path"/* >/dev/null
		else head -c 1 "$path" >/dev/null; fi 2>/dev/null &&
			echo "$path"
	done; true' bash "$@"
}

# finds UID PID...: where in these processes the key stands
finds()
{
	as "$1" "$intruder" search "$(rev <<<"$key")" "${@:2}"
}

everybody()
{
	find /proc -maxdepth 1 -name '[0-9]*' -printf '%f\n'
}

# What root finds, of which another user must open nothing.
files_with_key()
{
	grep -rslF "$key" "$tmp" || true
}

closed=(environ mem maps smaps fd fdinfo map_files auxv stack syscall)

# Everything of the process, and of each of its threads.
parts()
{
	local entry

	for entry in "${closed[@]}"; do
		compgen -G "/proc/$1/$entry" || true
		compgen -G "/proc/$1/task/*/$entry" || true
	done
}

# is_closed UID PID: nothing that tells of the process' memory can be read.
is_closed()
{
	local paths

	mapfile -t paths < <(parts "$2")
	check "there is something to try" test "${#paths[@]}" -gt 10
	check "$2 to user $1" equals "$(opens "$1" "${paths[@]}")" ''
}

# keeps_key "how it was launched" UID-OF-PROXY LAUNCHER-PREFIX... -- OPTION...
keeps_key()
{
	local how=$1 own=$2 launcher proxy agent spy=65532
	local prefix=() pids files

	shift 2
	while [[ $1 != -- ]]; do
		prefix+=("$1")
		shift
	done
	shift
	TRACE=$tmp/trace.$how/trace.jsonl.zst
	mkdir -m 777 "$tmp/trace.$how"
	printf '#!/bin/sh\nexec %s %s "$@"\n' "${prefix[*]}" "$tmp/launcher" \
		>"$tmp/prefixed"
	chmod 755 "$tmp/prefixed"
	OCTAP_PROXY=$tmp/prefixed UPSTREAM_API_KEY=$key start_proxy "$@"
	launcher=$PROXY_PID
	proxy=$(pgrep -P "$launcher" -x proxy)
	check "$how: who owns its memory" equals \
		"$(stat -c %u "/proc/$proxy/mem")" 0
	check "$how: its user" equals \
		"$(sed -n 's/^Uid:\t*\([0-9]*\).*/\1/p' "/proc/$proxy/status")" \
		"$own"
	ask answer "$tmp/stream.json" &
	agent=$!

	if ((EUID == 0)); then
		# The key is there, for those who may look.
		check "$how: found by root" grep -q "^memory /proc/$proxy " \
			<("$intruder" search "$(rev <<<"$key")" "$proxy")
		[[ $how == file ]] || check "$how: found by root" \
			grep -q "^environ /proc/$launcher" \
			<("$intruder" search "$(rev <<<"$key")" "$launcher")
		refute "$how: left in the environment" grep -qF "$key" \
			"/proc/$proxy/environ"
		is_closed "$spy" "$launcher"
		mapfile -t pids < <(everybody)
		check "$how: what user $spy finds" equals \
			"$(finds "$spy" "${pids[@]}")" ''
		mapfile -t files < <(files_with_key)
		check "$how: files that user $spy opens" equals \
			"$(opens "$spy" "${files[@]}")" ''
	else
		check "$how: the launcher's environment is its user's" equals \
			"$(stat -c '%u %a' "/proc/$launcher/environ")" \
			"$EUID 400"
	fi
	is_closed "$spy" "$proxy"
	is_closed "$own" "$proxy"
	check "$how: what its own user finds" equals \
		"$(finds "$own" "$proxy")" ''
	wait "$agent"
	check_records 1
	stop_proxy
}

# That a success would be seen.
as 65532 env PLANTED=sk-octap-planted bash -c '
	bash -c "sleep 9; :" &
	sleep 0.1
	"$1" search detnalp-patco-ks "$!"
	kill "$!"' bash "$intruder" >"$tmp/planted"
for where in environ memory; do
	check "what is not closed is found" grep -q "^$where " "$tmp/planted"
done

if ((EUID == 0)); then
	keeps_key run-as 65534 -- --run-as 65534:65534
	keeps_key plain 65534 setpriv --reuid 65534 --regid 65534 \
		--clear-groups --
	printf '%s\n' "$key" >"$tmp/key" && chmod 600 "$tmp/key"
	keeps_key file 65534 env -u UPSTREAM_API_KEY -- --run-as 65534:65534 \
		--upstream-api-key-file "$tmp/key"
else
	keeps_key plain "$EUID" --
fi
