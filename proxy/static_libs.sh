#!/usr/bin/env bash
#
# Make the libraries that the static octap-proxy links:
#
#	proxy/static_libs.sh FOLDER
#
# Of Debian's own archives libevent, libzstd and OpenSSL can be linked as they
# are, but libcurl.a needs a dozen libraries that have none.  So libcurl is built
# from Debian's source package (which has the security fixes) with nothing but
# HTTP and TLS.
#
# apt fetches the source as it fetches packages, signatures checked, but with
# lists and a cache below FOLDER: nothing of the system changes and no root is
# needed.  What is there already and fits is left alone.
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C

mkdir -p "$1"
libs=$(cd "$1" && pwd)
CC=${CC:-cc}
[[ $libs != *[[:space:]]* ]] || {
	echo "$0: $libs: libcurl cannot be built below a name with spaces" >&2
	exit 1
}

# All that decides what is built.
recipe=$(
	sha256sum "$0" | cut -d ' ' -f 1
	dpkg-query -W libssl-dev libevent-dev libzstd-dev libc6-dev
	"$CC" --version | head -n 1
)
[[ $(cat "$libs/recipe" 2>/dev/null) != "$recipe" ]] || exit 0

# The files of /etc/apt that list Debian, as deb-src; both formats.
list_sources()
{
	local file name

	mkdir -p "$libs/apt/sources"
	apt-get indextargets --format '$(SOURCESENTRY)' 'Created-By: Packages' \
		'Origin: Debian' | sed 's/:[0-9]*$//' | sort -u |
		while read -r file; do
			name=$libs/apt/sources/$(basename "$file")
			case $file in
			*.sources)
				sed -E 's/^Types:.*/Types: deb-src/I' "$file"
				;;
			*)
				sed -nE 's/^deb[[:space:]]/deb-src /p' "$file"
				;;
			esac >"$name"
		done
	[[ $(ls "$libs/apt/sources") ]] || {
		echo 'apt has no list of Debian: run apt-get update' >&2
		return 1
	}
}

# fetch SOURCE-PACKAGE: unpacked, with Debian's patches, in $source.
fetch()
{
	local package=$1

	rm -rf "$libs/apt" "$libs/source"
	mkdir -p "$libs/apt/"{lists,cache/archives}/partial "$libs/source"
	list_sources
	cat >"$libs/apt/conf" <<-END
		#clear APT::Update::Post-Invoke;
		#clear APT::Update::Post-Invoke-Success;
		APT::Sandbox::User "";
		Acquire::AllowInsecureRepositories "false";
		Acquire::Languages "none";
		Dir::Etc::SourceList "/dev/null";
		Dir::Etc::SourceParts "$libs/apt/sources";
		Dir::State::Lists "$libs/apt/lists";
		Dir::Cache "$libs/apt/cache";
	END
	apt-get -c "$libs/apt/conf" update -qq
	(cd "$libs/source" &&
		apt-get -c "$libs/apt/conf" source -qq "$package")
	rm -rf "$libs/apt"
	source=$(find "$libs/source" -mindepth 1 -maxdepth 1 -type d)
}

# Small rather than fast: what libcurl does to a byte is little.  No path of
# this machine gets in.  A C program that is not debugged needs no tables for
# unwinding.
cflags=(-Os -fPIE -ffunction-sections -fdata-sections
	-fno-asynchronous-unwind-tables -fstack-protector-strong
	-D_FORTIFY_SOURCE=2)

# Without CAs of its own, see shared/ca_bundle.h; without OpenSSL's
# configuration, which may ask for modules of another OpenSSL.
curl_options=(--disable-shared --enable-static --disable-dependency-tracking
	--with-openssl --disable-openssl-auto-load-config
	--enable-threaded-resolver --without-ca-bundle --without-ca-path
	--disable-{alt-svc,cookies,dateparse,dict,doh,file,ftp,gopher,hsts}
	--disable-{imap,ldap,ldaps,libcurl-option,manual,mime,mqtt,netrc}
	--disable-{ntlm,ntlm-wb,pop3,progress-meter,rtsp,smb,smtp,telnet}
	--disable-{tftp,tls-srp,unix-sockets}
	--without-{brotli,gssapi,libgsasl,libidn2,libpsl,librtmp,libssh2}
	--without-{nghttp2,zlib,zstd})

# A make above hands down flags that are not for this one.
build_curl()
{
	unset MAKEFLAGS MFLAGS MAKELEVEL
	cd "$source"
	./configure -q --prefix="$libs" CC="$CC" CFLAGS="${cflags[*]}" \
		"${curl_options[@]}"
	make -s -j"$(nproc)" -C lib install
	make -s -C include install
}

# An eighth of OpenSSL is tables for unwinding too.
slim()
{
	local archive

	archive=$("$CC" -print-file-name="$1")
	objcopy -D -R .eh_frame -R .rela.eh_frame "$archive" "$libs/lib/$1"
}

say()
{
	printf '  %-7s %s\n' "$1" "$2" >&3
}

log=$libs/log
trap '(($? == 0)) || tail -n 50 "$log" >&4' EXIT
exec 3>&1 4>&2 >"$log" 2>&1
say FETCH "libcurl, from Debian's sources"
fetch curl
say MAKE "libcurl ${source##*-}"
(build_curl)
slim libssl.a
slim libcrypto.a
rm -rf "$libs/source"
printf '%s\n' "$recipe" >"$libs/recipe"
