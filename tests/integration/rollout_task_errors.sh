#!/usr/bin/env bash
# A wrong task is refused by the name of its member, before anything is made.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

UPSTREAM=http://127.0.0.1:9
name=refused

# refused WORDS...: the task is stdin; all words are in the one line of stderr
refused()
{
	local word

	cat >"$place/task.json"
	begin_rollout refused "${with[@]}"
	end_of "$octap" 20
	check "$(head -c 200 "$place/task.json"): exit code" \
		equals "$status" 2
	check "one line" equals "$(wc -l <"$tmp/refused.stderr")" 1
	for word in "$@"; do
		check "it says: $word" has_line "$tmp/refused.stderr" "$word"
	done
	check "nothing on stdout" equals "$(cat "$tmp/refused.stdout")" ''
	check "no folder" equals "$(ls "$place")" $'task.json\ntmp'
	check "no folder" equals "$(ls "$place/tmp")" ''
}
task_words=(task.json)
with=()

# wrong_type MEMBER WORD VALUE...: each is not what it should be
wrong_type()
{
	local member=$1 word=$2 value

	shift 2
	for value in "$@"; do
		refused "task: $member must be" "$word" \
			<<<"{\"instruction\":\"x\",\"$member\":$value}"
	done
}

refused 'not a JSON object' <<<'[]'
refused 'not a JSON object' <<<'"text"'
refused 'not valid JSON' <<<''
refused 'not valid JSON' <<<'{"instruction":"x"'
refused 'not valid JSON' <<<'{"instruction":"x"} x'
refused 'not valid JSON' <<<'{"instruction":"x",}'
refused 'not valid JSON' < <(printf '{"instruction":"\xff"}')
refused 'not valid JSON' < <(printf '{"instruction":"a\nb"}')
refused '\u0000' 'no file name, command or prompt' \
	<<<'{"instruction":"a\u0000b"}'
refused '\u0000' <<<'{"instruction":"x","metadata":{"a\u0000":1}}'
refused 'unknown member "Instruction"' <<<'{"Instruction":"x"}'
refused 'unknown member "verfiy"' <<<'{"instruction":"x","verfiy":[]}'
refused 'instruction must be' 'not empty' <<<'{}'
refused 'instruction must be' 'not empty' <<<'{"instruction":""}'
refused 'instruction must be' 'not empty' <<<'{"instruction":null}'
refused 'instruction must be a text' <<<'{"instruction":7}'

wrong_type task_id 'a text' 7 '["x"]'
wrong_type system_prompt 'a text' false
for member in agent_timeout_s setup_timeout_s verify_timeout_s; do
	wrong_type "$member" 'seconds above 0, at most a week' \
		0 -1 1e400 604801 '"10"' true '[1]'
done
for member in setup verify tools; do
	wrong_type "$member" 'a list' '"x"' '{"a":"b"}' 1 '[1]' '["x",null]'
done
for member in metadata extra_opencode_json; do
	wrong_type "$member" 'an object' '"x"' '[]' 1
done
wrong_type env 'an object of names and texts' '[]' '{"A":1}' '{"":"x"}' \
	'{"A=B":"x"}' '{"A":null}'
for member in files verify_files; do
	wrong_type "$member" 'an object of paths and texts' '[]' '{"a":1}'
done
for member in upload verify_upload; do
	wrong_type "$member" 'a list of {"from": FILE, "to": PATH}' '{}' \
		'["x"]' '[{"from":"task.json"}]' '[{"to":"a"}]' \
		'[{"from":"task.json","to":1}]' \
		'[{"from":"task.json","to":"a","mode":7}]'
	refused "task: $member" 'No such file' nothing <<-END
		{"instruction":"x","$member":[{"from":"nothing","to":"a"}]}
	END
	refused "task: $member" 'not a regular file' <<-END
		{"instruction":"x","$member":[{"from":"/dev","to":"a"}]}
	END
done

mkfifo "$tmp/fifo"
for member in upload verify_upload; do
	refused "task: $member" 'not a regular file' <<-END
		{"instruction":"x","$member":[{"from":"$tmp/fifo","to":"a"}]}
	END
done

# What contradicts itself.
refused 'setup is there twice' \
	<<<'{"instruction":"x","setup":["a"],"setup":[]}'
refused 'instruction is there twice' <<<'{"instruction":null,"instruction":"x"}'
refused 'env: task: A is there twice' \
	<<<'{"instruction":"x","env":{"A":"1","B":"","A":"2"}}'
for member in files verify_files; do
	refused "task: $member:" 'a/b is there twice' \
		<<<"{\"instruction\":\"x\",\"$member\":{\"a/b\":\"\",\"a-b\":\"\",
		\"/home/user/workdir/a/b\":\"\"}}"
	refused "task: $member:" 'a/b/c lies below the file' \
		<<<"{\"instruction\":\"x\",\"$member\":{\"a/b/c\":\"\",\"a/b-\":\"\",
		\"a/b.d\":\"\",\"a/b\":\"\"}}"
	for path in /home/user/{workdir,task,task/instruction.md,logs} \
		/home/user/{logs/agent,.config,.config/opencode} \
		/home/user/logs/verifier{,/reward.txt}; do
		refused "task: $member: $path is in the way" \
			<<<"{\"instruction\":\"x\",\"$member\":{\"$path\":\"\"}}"
	done
done
refused 'task: files:' 'is there twice' <<'END'
{"instruction":"x","files":{"task.json":""},
	"upload":[{"from":"task.json","to":"task.json"}]}
END

# Paths that lead out of what the task may write.
for path in /etc/x ../x a/../../x . .. '' / // a//b a/ /home/user \
	/home/user/ /home/user/../x /home/userx/y /tmp/../etc/x; do
	refused files "$path" <<<"{\"instruction\":\"x\",\"files\":{\"$path\":\"\"}}"
	refused verify_files <<<"{\"instruction\":\"x\",\"verify_files\":{\"$path\":\"\"}}"
	refused verify_upload <<-END
		{"instruction":"x","verify_upload":[{"from":"task.json","to":"$path"}]}
	END
done
refused 'task: files' plain <<<"{\"instruction\":\"x\",\"files\":{\"$(printf 'n%.0s' {1..300})\":\"\"}}"

# Linux hands on no word that is longer.
long=$(head -c 123000 /dev/zero | tr '\0' x)
for member in setup verify; do
	refused "task: $member" 'longer than 122880 bytes' \
		<<<"{\"instruction\":\"x\",\"$member\":[\"true\",\"$long\"]}"
done
refused 'env' 'longer' <<<"{\"instruction\":\"x\",\"env\":{\"A\":\"$long$long\"}}"
refused 'task: system_prompt' longer \
	<<<"{\"instruction\":\"x\",\"system_prompt\":\"$long\"}"

# The same members by option.
task_words=()
refused 'no task' </dev/null
task_words=(--instruction '')
refused 'instruction must be' </dev/null
for option in --setup --verify; do
	task_words=(--instruction x "$option" true "$option" '')
	refused "$option must be a text that is not empty" </dev/null
done
task_words=(--instruction $'\xff')
refused '--instruction is not valid UTF-8' </dev/null
task_words=(--instruction x --setup true --verify $'a\xc3')
refused '--verify is not valid UTF-8' </dev/null
mkfifo "$tmp/task.fifo"
task_words=("$tmp/task.fifo")
refused 'task.fifo is a named pipe' </dev/null
task_words=(--instruction x --setup "$long")
refused 'task: setup' longer </dev/null
task_words=(task.json)

with=(--sampling nonsense)
refused '--sampling' <<<'{"instruction":"x"}'
with=(--sampling '{"temprature":1}')
refused '--sampling: unknown member "temprature"' <<<'{"instruction":"x"}'
with=(--sampling '[1]')
refused '--sampling' 'JSON object' <<<'{"instruction":"x"}'
with=(--agent-timeout 0)
refused '--agent-timeout' <<<'{"instruction":"x"}'
for option in --out --model --base-url --agent-binary --api-key-env \
	--endpoint --sampling; do
	with=("$option" '')
	refused "$option must be a text that is not empty" \
		<<<'{"instruction":"x"}'
done
with=(--mode black_box --max-turns 3)
refused '--max-turns needs --mode transparent_proxy' <<<'{"instruction":"x"}'
with=(--mode black_box --top-logprobs 3)
refused '--top-logprobs needs --mode transparent_proxy' \
	<<<'{"instruction":"x"}'
