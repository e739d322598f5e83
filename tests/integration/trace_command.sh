#!/usr/bin/env bash
# octap trace show, stats and cat: of good files, of bad ones, and in colour only
# for people.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib_rollout.sh"

printf '{}\n{"stream":"%s"}\n{"status":500}\n{}\n' \
	"$wire/vllm/think_tools.asked.sse" >"$tmp/script"
start_upstream "${answers[@]}" --script "$tmp/script"
task <<<'@call
@call
@try-call
@call'
rollout recorded
use_trace
trace >"$tmp/good.jsonl"

# octap_trace CODE WORD...: its output, without a terminal, into $tmp/shown
octap_trace()
{
	local code=$1

	shift
	status=0
	"$OCTAP" trace "$@" >"$tmp/shown" 2>"$tmp/said" || status=$?
	check "exit code of trace $*" equals "$status" "$code"
	refute "trace $*: escape sequences" grep $'\033' "$tmp/shown" "$tmp/said"
	((code == 0)) || check "trace $*: it says why" test -s "$tmp/said"
}

for file in "$TRACE" "$tmp/good.jsonl"; do
	octap_trace 0 cat "$file"
	check "the records" cmp "$tmp/shown" "$tmp/good.jsonl"
	octap_trace 0 show "$file"
	check "a line for each, and one above" \
		equals "$(wc -l <"$tmp/shown")" 5
	check "the failed one" grep -q '500' "$tmp/shown"
	octap_trace 0 show "$file" --turn 1
	for text in 'Turn 1' 'Hello world!' exact qwen3-8b '@try-call'; do
		check "turn 1 has $text" has_line "$tmp/shown" "$text"
	done
	octap_trace 0 show "$file" --turn 2
	check "its tool call" grep -q tool "$tmp/shown"
	octap_trace 0 show "$file" --turn 3
	octap_trace 0 stats "$file"
	check "turns" grep -qE 'turns +4' "$tmp/shown"
	octap_trace 1 show "$file" --turn 9
	check "it says which" has_line "$tmp/said" 9
done

# Cut off in the middle: what is whole is shown, and that it is cut.
size=$(stat -c %s "$TRACE")
head -c $((size - 20)) "$TRACE" >"$tmp/cut.jsonl.zst"
head -c -60 "$tmp/good.jsonl" >"$tmp/cut.jsonl"
for file in "$tmp/cut.jsonl.zst" "$tmp/cut.jsonl"; do
	octap_trace 1 cat "$file"
	check "three whole records" cmp <(head -n 3 "$tmp/good.jsonl") \
		<(head -n 3 "$tmp/shown")
	octap_trace 1 show "$file"
	check "their lines" test "$(wc -l <"$tmp/shown")" -ge 4
	check "it says so" has_line "$tmp/said" 'in the middle'
done

# Empty, foreign, not there.
: >"$tmp/empty.jsonl"
zstd -q </dev/null >"$tmp/empty.jsonl.zst"
for file in "$tmp/empty.jsonl" "$tmp/empty.jsonl.zst"; do
	octap_trace 0 cat "$file"
	check "nothing" equals "$(cat "$tmp/shown")" ''
	octap_trace 0 show "$file"
	octap_trace 0 stats "$file"
done
echo '{"schema":"other/1"}' >"$tmp/foreign.jsonl"
echo 'not JSON' >"$tmp/text.jsonl"
head -c 3000 /dev/urandom >"$tmp/noise.zst"
for file in "$tmp/foreign.jsonl" "$tmp/text.jsonl" "$tmp/noise.zst" \
	"$tmp/nothing" "$tmp"; do
	octap_trace 1 show "$file"
	octap_trace 1 stats "$file"
	check "it names the file" has_line "$tmp/said" "$file"
done

# A pipe: of the shell's it is read, one that nobody writes to is refused.
octap_trace 0 stats <(cat "$TRACE")
mkfifo "$tmp/fifo"
for what in show stats cat; do
	octap_trace 1 "$what" "$tmp/fifo"
	check "it says so" has_line "$tmp/said" 'fifo is a named pipe'
done

# What cannot be printed is no success.
unprinted()
{
	check "exit code of $*" equals "$status" 1
	check "it says why" has_line "$tmp/said" stdout
}
for words in "trace show $TRACE" "trace show --turn 2 $TRACE" \
	"trace stats $TRACE" "trace cat $TRACE" --help "trace --help"; do
	status=0
	# shellcheck disable=SC2086
	"$OCTAP" $words >/dev/full 2>"$tmp/said" || status=$?
	unprinted "$words, full"
	status=0
	# shellcheck disable=SC2086
	"$OCTAP" $words >&- 2>"$tmp/said" || status=$?
	unprinted "$words, closed"
done

octap_trace 2
octap_trace 2 show
octap_trace 2 paint "$TRACE"
octap_trace 2 stats "$TRACE" --turn 1
octap_trace 2 show "$TRACE" --turn 0

# Colours on a terminal, unless NO_COLOR says otherwise.
on_terminal()
{
	env -u NO_COLOR "$@" script -qec \
		"'$OCTAP' trace show '$TRACE' --turn 1" /dev/null </dev/null
}
check "colours" grep -q $'\033\[1m' <(on_terminal)
refute "colours with NO_COLOR" grep $'\033' <(on_terminal NO_COLOR=1)

# What a model said cannot play with the terminal.
jq -c '.response.choices[0].message.content = "a\u001b[2Jb" |
	.completion_tokens[0] = "a\u001b]0;x\u0007"' <(head -n 1 "$tmp/good.jsonl") \
	>"$tmp/nasty.jsonl"
octap_trace 0 show "$tmp/nasty.jsonl" --turn 1
check "shown as it is" has_line "$tmp/shown" 'a\x1b[2Jb'
