#!/usr/bin/env bash
# Hidden files are there for the verifier, and for the agent never.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

start_upstream "${answers[@]}"
printf '#!/bin/bash\necho ran; \x00\xff' >"$tmp/check.bin"
chmod 755 "$tmp/check.bin"
task '{"files":{"/home/user/seen/a.txt":"seen","open.txt":"open"},
	"upload":[{"from":"check.bin","to":"tools/run"}],
	"verify_files":{"/home/user/hidden/secret.txt":"s3cret",
		"tests/t.txt":"hidden", "open.txt":"mine"},
	"verify_upload":[{"from":"check.bin","to":"/home/user/hidden/run"}],
	"verify":["test \"$(cat /home/user/hidden/secret.txt)\" = s3cret",
	"test \"$(cat tests/t.txt)\" = hidden","test -x /home/user/hidden/run",
	"cmp /home/user/hidden/run tools/run", "test \"$(cat open.txt)\" = mine"]
	}' <<'END'
@sh cat open.txt /home/user/seen/a.txt; test -x tools/run && echo executable
@sh find / -xdev -name 'secret.txt' -o -xdev -name t.txt -o -path '*/hidden*' 2>/dev/null; grep -rsl --exclude=instruction.md s3cret /home /tmp /opt; env | grep s3cret
@sh mkdir -p /home/user/hidden; ln -s /etc/passwd /home/user/hidden/secret.txt; ln -s /tmp tests; rm open.txt; mkfifo open.txt; mkdir -p /home/user/hidden/run/x
@call
END
rollout hidden
check "what the agent saw" equals "$(agent_output)" 'openseenexecutable'

# What it put in the way (a link for a folder, folders and fifos for files) was
# replaced, and nothing written through it.
check_result '.outcome == "completed" and .reward == 1'
check "binary upload" cmp "$tmp/check.bin" "$out/files/tools/run"
check "its link is a folder now" equals "$(cat "$out/files/tests/t.txt")" hidden

# It closes its folders to everybody: no reason not to score it.
closed()
{
	task '{"verify_files":{"tests/t.txt":"hidden"},
		"verify":["cat tests/t.txt","false"]}' <<-'END'
		@call
		@sh mkdir tests; chmod 0 tests
	END
	rollout closed
	check_result '.outcome == "completed" and .reward == 0.5'

	jq '.instruction += "\n@sh chmod 0 /home/user /home/user/workdir"' \
		"$tmp/task.json" >"$tmp/shut.json"
	mv "$tmp/shut.json" "$tmp/task.json"
	rollout shut
	check_result '.outcome == "completed" and .reward == 0.5'
}

each_user closed
