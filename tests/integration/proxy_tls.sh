#!/usr/bin/env bash
# An upstream by TLS: its certificate is checked against the authorities that
# the environment names, besides or in place of the system's.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_tls.sh"

unset "${trust_variables[@]}"
make_authority ours
make_authority other
make_certificate ours IP:127.0.0.1,DNS:localhost
start_upstream "${answers[@]}"
start_tls ours
turn=0

# A proxy with NAME=VALUE... in its environment gets through.
trusts()
{
	local -x "$@"

	start_proxy
	ask answer "$tmp/stream.json"
	check_status answer 200
	check "the answer is the upstream's" grep -q '\[DONE\]' "$tmp/answer"
	turn=$((turn + 1))
	check_record "$turn" '.complete and .upstream.status == 200'
}

# refuses WHY NAME=VALUE...
refuses()
{
	local why=$1

	shift
	local -x "$@" why
	start_proxy
	ask answer "$tmp/stream.json"
	check_status answer 502
	check_error "$tmp/answer"
	turn=$((turn + 1))
	check_record "$turn" '.complete == false and .upstream.status == null and
		(.response.upstream_error | test("certificate")) and
		(.response.upstream_error | test("'"$why"'"))'
}

trusts SSL_CERT_FILE="$tmp/ours.pem"

# The file was parsed once: that it is gone is not seen by a new connection.
mv "$tmp/ours.pem" "$tmp/moved.pem"
pkill -KILL -P "$TLS_PID"
ask answer "$tmp/stream.json"
check_status answer 200
turn=$((turn + 1))
mv "$tmp/moved.pem" "$tmp/ours.pem"
stop_proxy

refuses "local issuer"
stop_proxy
refuses "$tmp/other.pem" SSL_CERT_FILE="$tmp/other.pem"
stop_proxy
for variable in CURL_CA_BUNDLE REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS; do
	trusts "$variable=$tmp/ours.pem"
	stop_proxy
done

# Extra is extra: both are trusted.
trusts SSL_CERT_FILE="$tmp/other.pem" NODE_EXTRA_CA_CERTS="$tmp/ours.pem"
stop_proxy
trusts SSL_CERT_FILE="$tmp/ours.pem" NODE_EXTRA_CA_CERTS="$tmp/other.pem"
stop_proxy

# A folder with names that are hashes.
mkdir "$tmp/folder"
cp "$tmp/ours.pem" "$tmp/folder"
openssl rehash "$tmp/folder"
trusts SSL_CERT_DIR="$tmp/folder"
stop_proxy

# A server that speaks no TLS.
socat -d -d TCP-LISTEN:0,bind=127.0.0.1,fork \
	SYSTEM:"printf 'HTTP/1.1 400 No\r\n\r\n'" 2>"$tmp/plain.err" &
wait_until 20 "socat to listen" has_line "$tmp/plain.err" 'listening on'
UPSTREAM=https://127.0.0.1:$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' \
	"$tmp/plain.err") start_proxy
ask answer "$tmp/stream.json"
check_status answer 502
check_error "$tmp/answer"
turn=$((turn + 1))
check_record "$turn" '.complete == false and .upstream.status == null and
	(.response.upstream_error | length > 0)'
stop_proxy

# Signed by who may, but for another name.
make_certificate ours DNS:elsewhere.test
kill "$TLS_PID"
wait "$TLS_PID" || true
UPSTREAM=http://127.0.0.1:$(jq -r 'select(.event == "listening").port' \
	"$UPSTREAM_LOG")
start_tls ours
refuses "" SSL_CERT_FILE="$tmp/ours.pem"
