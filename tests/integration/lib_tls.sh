# shellcheck shell=bash
#
# For tests with an upstream that speaks TLS, sourced after lib.sh:
#
#	make_authority NAME		$tmp/NAME.pem, a new authority
#	make_certificate NAME SAN	for a server, signed by it: $tmp/NAME.server
#	start_tls NAME			TLS in front of $UPSTREAM, in $TLS_PORT
#
# All that could name an authority is in $trust_variables.
tls_fronts=0
trust_variables=(SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE REQUESTS_CA_BUNDLE
	NODE_EXTRA_CA_CERTS)

make_authority()
{
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
		-days 2 -subj "/CN=authority $1" -keyout "$tmp/$1.key" \
		-out "$tmp/$1.pem" 2>>"$tmp/openssl.log"
}

make_certificate()
{
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
		-subj /CN=server -keyout "$tmp/$1.server.key" \
		-out "$tmp/$1.server.csr" 2>>"$tmp/openssl.log"
	openssl x509 -req -in "$tmp/$1.server.csr" -days 2 -CAcreateserial \
		-CA "$tmp/$1.pem" -CAkey "$tmp/$1.key" \
		-extfile <(echo "subjectAltName=$2") \
		-out "$tmp/$1.server.pem" 2>>"$tmp/openssl.log"
	cat "$tmp/$1.server.pem" "$tmp/$1.server.key" >"$tmp/$1.server"
}

start_tls()
{
	local log to

	tls_fronts=$((tls_fronts + 1))
	log=$tmp/tls.$tls_fronts.err
	to=${UPSTREAM#http://}
	socat -d -d "OPENSSL-LISTEN:0,bind=127.0.0.1,reuseaddr,fork,verify=0,$(
		)cert=$tmp/$1.server" "TCP:$to" 2>"$log" &
	TLS_PID=$!
	wait_until 20 "socat to listen" has_line "$log" 'listening on'
	TLS_PORT=$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' "$log")
	UPSTREAM=https://127.0.0.1:$TLS_PORT
}
