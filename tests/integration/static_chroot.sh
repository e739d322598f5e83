#!/usr/bin/env bash
# The static program needs nothing but itself: in a root folder with no other
# file it finds hosts by DNS and by /etc/hosts, and speaks TLS.
#
# All of it is in a network of its own, where port 53 is free to use.
if [[ ! ${IN_OWN_NETWORK:-} ]]; then
	own_network=(bwrap --unshare-user --uid 0 --gid 0 --unshare-net
		--cap-add ALL --die-with-parent --dev-bind / /)
	"${own_network[@]}" true || {
		echo "no network namespaces here"
		exit 77
	}
	IN_OWN_NETWORK=yes exec "${own_network[@]}" "$0"
fi
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_tls.sh"

unset "${trust_variables[@]}"
root=$tmp/root
mkdir -p "$root/etc"
cp "$OCTAP_PROXY" "$root/octap-proxy"
cat >"$tmp/in-root" <<-END
	#!/bin/sh
	exec chroot "$root" /octap-proxy "\$@"
END
chmod +x "$tmp/in-root"
OCTAP_PROXY=$tmp/in-root
TRACE=$root/trace.jsonl.zst
turn=0

# found URL
found()
{
	UPSTREAM=$1
	start_proxy --trace /trace.jsonl.zst
	ask answer "$tmp/stream.json"
	check_status answer 200
	turn=$((turn + 1))
	check_record "$turn" '.complete'
	stop_proxy
}

# not_found URL WHY
not_found()
{
	UPSTREAM=$1
	start_proxy --trace /trace.jsonl.zst
	ask answer "$tmp/stream.json"
	check_status answer 502
	turn=$((turn + 1))
	check_record "$turn" '.response.upstream_error | test("'"$2"'")'
	stop_proxy
}

listener dns python3 tests/fake/dns.py 127.0.0.1 model.test
dns=$pid
make_authority ours
make_certificate ours DNS:model.test
start_upstream "${answers[@]}"
plain=${UPSTREAM##*:}
start_tls ours
tls=$TLS_PORT

echo 'nameserver 127.0.0.1' >"$root/etc/resolv.conf"
found "http://model.test:$plain"
not_found "http://elsewhere.test:$plain" 'resolve host'

echo '127.0.0.1 elsewhere.test' >"$root/etc/hosts"
found "http://elsewhere.test:$plain"
found "http://model.test:$plain"

# Modules of another libc are not asked for.
echo 'hosts: mdns4_minimal [NOTFOUND=return] resolve [!UNAVAIL=return] nis' \
	>"$root/etc/nsswitch.conf"
found "http://elsewhere.test:$plain"
found "http://model.test:$plain"

# The certificate is checked against what is in a usual place.
not_found "https://model.test:$tls" 'trusting no file: .*certificate'
mkdir -p "$root/etc/ssl/certs"
cp "$tmp/ours.pem" "$root/etc/ssl/certs/ca-certificates.crt"
found "https://model.test:$tls"

kill -KILL "$dns"
end_of "$dns" 20
