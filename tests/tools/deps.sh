#!/usr/bin/env bash
#
# Install what is missing: tests/tools/deps.sh GROUP...
#
# Groups: build, static, run, bench, check, ecosystem, fuzz, lint (Debian
# packages, by apt-get, through sudo when not root) and agent (opencode from npm,
# into build/agent).  What is there already is left alone, so a second call takes
# no time.
set -euo pipefail

cd "$(dirname "$0")/../.."

declare -A packages=(
	[build]="gcc libc6-dev pkg-config libevent-dev
		libcurl4-openssl-dev libcjson-dev libzstd-dev"
	[static]="dpkg-dev libssl-dev"
	[run]="bubblewrap ca-certificates python3-minimal"
	[bench]="nginx-light"
	[check]="libcmocka-dev curl jq zstd strace util-linux procps socat openssl
		python3-jsonschema"
	[ecosystem]="cmake make g++ python3-venv"
	[fuzz]="clang libclang-rt-14-dev"
	[lint]="clang-format clang-tidy shellcheck"
)

is_installed()
{
	[[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == \
		installed ]]
}

as_root()
{
	if ((EUID == 0)); then
		"$@"
	else
		sudo "$@"
	fi
}

install_packages()
{
	local missing=() package

	for package in "$@"; do
		is_installed "$package" || missing+=("$package")
	done
	((${#missing[@]})) || return 0
	printf 'Installing %s\n' "${missing[*]}"
	as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
		--no-install-recommends "${missing[@]}" >/dev/null
}

# The package for this machine; the baseline build is for CPUs without AVX2.
agent_package()
{
	case $(uname -m) in
	x86_64)
		if grep -qw avx2 /proc/cpuinfo; then
			echo opencode-linux-x64
		else
			echo opencode-linux-x64-baseline
		fi
		;;
	aarch64) echo opencode-linux-arm64 ;;
	*)
		echo "opencode has no build for $(uname -m)" >&2
		return 1
		;;
	esac
}

# opencode-ai itself is only a launcher; the program is in the package that it
# would choose, so nothing needs to run at install time.
install_agent()
{
	local version=$1 package

	package=$(agent_package)
	if [[ -x build/agent/opencode &&
		$(cat build/agent/version 2>/dev/null) == "$package@$version" ]]; then
		return 0
	fi
	command -v npm >/dev/null || install_packages npm
	printf 'Installing opencode-ai %s\n' "$version"
	mkdir -p build/agent
	npm install --prefix build/agent --no-save --no-audit --no-fund \
		--ignore-scripts --omit=optional --loglevel=error \
		"opencode-ai@$version" "$package@$version" >/dev/null
	ln -sfn "node_modules/$package/bin/opencode" build/agent/opencode
	build/agent/opencode --version | grep -qxF "$version"
	printf '%s' "$package@$version" >build/agent/version
}

for group in "$@"; do
	if [[ $group == agent ]]; then
		install_agent "$OPENCODE_VERSION"
	else
		# shellcheck disable=SC2086 # a list of words
		install_packages ${packages[$group]}
	fi
done
