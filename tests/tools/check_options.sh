#!/usr/bin/env bash
#
# Every option that --help shows is in the manual page, and the other way
# round; every help text shows examples and exit codes.
set -euo pipefail

cd "$(dirname "$0")/../.."
OCTAP=${OCTAP:-build/release/bin/octap}
OCTAP_PROXY=${OCTAP_PROXY:-build/release/bin/octap-proxy}
status=0

complain()
{
	echo "$*"
	status=1
}

# The long options in a help text: "  --name ARG", "  --[no-]name".
options_in_help()
{
	"$@" --help | sed -nE 's/^  --(\[no-\])?([a-z-]+).*/\2/p' |
		grep -vxE 'help|version' | sort -u
}

# The same in a section of a manual page: ".It Fl -name".
options_in_manual()
{
	sed -nE 's/^\.It Fl -(\[no-\])?([a-z-]+).*/\2/p' "$1" |
		grep -vxE 'help|version' | sort -u
}

check_program()
{
	local page=$1 difference

	shift
	for section in Examples: 'Exit status:'; do
		"$@" --help | grep -q "^$section" ||
			complain "$* --help: no section $section"
	done
	difference=$(comm -3 <(options_in_help "$@") \
		<(options_in_manual <(section_of "$page" "$@")))
	[[ -z $difference ]] ||
		complain "$* against $page:" $'\n'"$difference"
}

# octap.1 has a subsection for each command; octap-proxy.1 is all one.
section_of()
{
	if [[ $1 == *octap.1 ]]; then
		sed -n "/^\.Ss octap ${*: -1}/,/^\.S[sh]/p" "$1"
	else
		cat "$1"
	fi
}

check_program proxy/octap-proxy.1 "$OCTAP_PROXY"
for command in run replay trace; do
	check_program controller/octap.1 "$OCTAP" "$command"
done
exit $status
