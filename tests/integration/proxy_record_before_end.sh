#!/usr/bin/env bash
# When the agent reads [DONE], or the end of a whole answer, the record is in
# the file.
. "$(dirname "$0")/lib.sh"

start_upstream "${answers[@]}" --chunk random:7 --delay 1
start_proxy

# at_done COMMAND: what it prints at the moment when [DONE] was read
at_done()
{
	curl -sS -N --max-time 20 --data-binary "@$tmp/stream.json" \
		"$URL/v1/chat/completions" | {
		while IFS= read -r line; do
			[[ $line != 'data: [DONE]' ]] || "$1"
		done
		cat >/dev/null
	}
}

for ((i = 1; i <= 50; i++)); do
	check "records at the $i. [DONE]" equals "$(at_done records)" "$i"
done
for ((; i <= 60; i++)); do
	ask whole "$tmp/whole.json"
	check "records at the end of a whole answer" equals "$(records)" "$i"
done

# Records that take long to write: the file must have its final size.
size()
{
	stat -c %s "$TRACE"
}

for ((; i <= 65; i++)); do
	{
		request "$with_usage" | head -c -1
		printf ',"x":"'
		head -c 6000000 /dev/urandom | base64 -w 0
		printf '"}'
	} >"$tmp/stream.json"
	then=$(at_done size)
	wait_until 5 "the record" has_records "$i"
	check "size at the end" equals "$then" "$(size)"
done
