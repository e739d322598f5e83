#!/usr/bin/env bash
# Of the system's folders the agent sees no sources; a task, results or a current
# folder that lie where it can read are warned of.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

if ((EUID != 0)); then
	echo 'only root can mount'
	exit 77
fi
mkdir "$tmp/share"
echo secret >"$tmp/share/hidden"
start_upstream "${answers[@]}"
task '{"verify":["true"]}' <<'END'
@sh cat /usr/src/hidden /usr/local/src/hidden 2>/dev/null; ls -A /usr/src /usr/local/src; touch /usr/src/x 2>/dev/null && echo written
@call
END
cp "$tmp/task.json" "$tmp/share"

# Mounted for this octap only.
as=(unshare -m bash -c 'share=$1; shift
	for path in /usr/src /usr/local/src /usr/local/share; do
		mkdir -p "$path" && mount --bind "$share" "$path" || exit
	done
	cd "$WHERE"
	exec "$@"' bash "$tmp/share")
export WHERE=$place
rollout hidden
check "what it saw" equals "$(agent_output)" $'/usr/local/src:\n\n/usr/src:'
check_result '.reward == 1'
refute "a warning" grep -i warn "$tmp/hidden.stderr"

# warned NAME OPTION...: of one thing
warned()
{
	begin_rollout "$@"
	end_of "$octap" 30
	check "exit code" equals "$status" 0
	check "warnings" equals "$(grep -c warn "$tmp/$1.stderr")" 1
}

task_words=(/usr/local/share/task.json)
warned task
check "of the task" has_line "$tmp/task.stderr" \
	'the task file /usr/local/share/task.json lies where the agent can read'
task_words=("$tmp/task.json")
warned out --out /usr/local/share/out
check "of the results" has_line "$tmp/out.stderr" '--out /usr/local/share/out lies'
WHERE=/usr/bin warned folder
check "of the folder" has_line "$tmp/folder.stderr" 'the current folder /usr/bin'
