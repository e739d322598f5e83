#!/usr/bin/env bash
# Whatever an agent leaves in its workdir: what can be had of it is copied, the
# rest is named, nothing is followed, nothing hangs, the folder is removed.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"

# leave NAME: what the agent does is stdin, a script
leave()
{
	cat >"$tmp/script.sh"
	task '{"upload":[{"from":"script.sh","to":"/home/user/script.sh"}],
		"verify":["true"]}' <<<'@sh bash /home/user/script.sh
@call'
	rollout "$1"
	check "the script went well" equals "$(agent_output)" ''
	check_result '.outcome == "completed" and .reward == 1'
	check_result '.timings.collecting_s < 10 and .timings.closing_s < 30'
	refute "something else than files and folders" \
		grep . <(find "$out" ! -type f ! -type d)
}

# is_extra NAME: named as not to be had; JSON text
is_extra()
{
	check_result ".files_extra | index($1) != null"
	check_result ".files | has($1) | not"
}

odd()
{
	leave odd <<-'END'
		ln -s /etc/passwd passwd
		ln -s /home/user /tmp/../proc/1 etc 2>/dev/null
		ln -s /etc folder
		ln -s . loop
		mkfifo fifo
		python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")' 2>/dev/null
		mkdir -p a/b .git node_modules/x
		ln -s ../../../../.. a/b/up
		echo git >.git/HEAD; echo npm >node_modules/x/y
		truncate -s 1T sparse
		head -c 20000000 /dev/urandom >large
		printf x >'new
		line'
		printf q >"quote'\"\`\$(touch pwned)"
		printf b >'back\slash'
		printf d >'-rf'
		printf s >' space '
		printf 3 >...; printf 2 >..a; mkdir '..b'; printf 4 >'..b/..'c
		printf u >'ünïcode ✓'
		printf g >$'garbage\xff\xc3('
		mkdir $'dir\xfe'; printf g >$'dir\xfe/inside'
		printf e >$'escape\033[2J'
		printf n >nul; printf n >con; printf n >/home/user/workdir/null
		printf z >"$(printf 'n%.0s' {1..255})"
		printf 0 >closed; chmod 0 closed
		mkdir shut; printf 0 >shut/file; chmod 0 shut
		printf '#!/bin/sh\n' >program; chmod 6777 program
	END
	check_result '.files["new\nline"] == "x" and .files["-rf"] == "d" and
		.files["quote\u0027\"`$(touch pwned)"] == "q" and
		.files["back\\slash"] == "b" and .files[" space "] == "s" and
		.files["..."] == "3" and .files["..a"] == "2" and
		.files["..b/..c"] == "4" and .files["ünïcode ✓"] == "u" and
		.files["escape\u001b[2J"] == "e" and .files.null == "n"'
	is_extra '"large"'
	is_extra '"sparse"'
	is_extra '"garbage\ufffd\ufffd("'
	is_extra '"dir\ufffd/inside"'
	check_result '.files + (.files_extra | map({(.): 1}) | add) |
		has("closed")'
	check_result '[.files, .files_extra | tostring |
		contains("HEAD", "npm", "passwd", "fifo", "loop")] | any | not'
	check "as it was" equals "$(cat "$out/files/"$'new\nline')" x
	refute "something was executed" test -e "$out/files/pwned"
	refute "with rights" grep . <(find "$out/files" -perm /7111 -type f)
	check "the report" "$OCTAP" trace show "$out/proxy_trace.jsonl.zst"
}

many()
{
	leave many <<-'END'
		for i in {1..5000}; do echo "$i" >"f$i"; done
		mkdir -p 1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17
		echo seen >1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/seen
	END
	check "files copied" equals "$(find "$out/files" -type f | wc -l)" 1024
	check_result '.files | length == 32'
	check_result '.files_extra | length == 1025 and .[-1] ==
		"(and 2954 more)" and .[0] ==
		"1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/"'
	check "deep ones, too" grep -rx seen "$out/files"
}

# 64 MB in all, by files of 8 MB.
much()
{
	leave much <<-'END'
		for i in {10..19}; do head -c 8388608 /dev/zero >"$i"; done
		head -c 8388609 /dev/zero >more
	END
	check_result '.files_extra == ["18", "19", "more"] and .files == {}'
}

# In memory, where folders cost little.
deep()
{
	[[ ! -w /dev/shm ]] || be "/dev/shm/$mark" "$EUID"
	leave deep <<-'END'
		perl -e 'for (1 .. 100000) { mkdir "d" or die; chdir "d" or die }
			open F, ">bottom"; print F "x"'
		cd /home/user; mkdir -p wide
		perl -e 'for (1 .. 2000) { mkdir "wide/$_"; mkdir "wide/$_/x";
			chmod 0, "wide/$_" }'
	END
	check_result '.files == {} and (.files_extra | length == 1 and
		(.[0] | startswith("d/d/")))'
}

each_user odd
many
much
trap 'status=$?; rm -rf "/dev/shm/$mark"; on_exit "$status"' EXIT
deep
