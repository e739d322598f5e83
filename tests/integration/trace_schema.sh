#!/usr/bin/env bash
# Every record, however its call ended, is as docs/trace.schema.json says, and
# the schema refuses what is not.
. "$(dirname "$0")/lib.sh"

# The Debian package is for Debian's own python3.
python=/usr/bin/python3
"$python" -c 'import jsonschema' 2>/dev/null || {
	echo "python3-jsonschema is not installed"
	exit 77
}
cat >"$tmp/validate.py" <<'END_OF_PYTHON'
"""validate.py SCHEMA check|damage: say what is wrong with each record of the
standard input; or damage each in every way and say what is let through."""

import copy
import json
import sys

import jsonschema

with open(sys.argv[1]) as file:
    schema = json.load(file)
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
# What the agent and the server may have said in any form.
ANYTHING = ("request", "response", "value")


def damaged(record, path=()):
    """Copies with a member removed, added or of a type that it never has."""
    members = record
    for key in path:
        members = members[key]
    for key in [*members, "another"]:
        if key == "request_base64":
            continue
        for damage in ("removed", "retyped") if key in members else ("added",):
            if damage == "retyped" and key in ANYTHING:
                continue
            copied = copy.deepcopy(record)
            inside = copied
            for step in path:
                inside = inside[step]
            if damage == "removed":
                del inside[key]
            else:
                was_bool = isinstance(inside.get(key), bool)
                inside[key] = "yes" if was_bool else True
            yield f"{damage} {'.'.join((*path, key))}", copied


for line in sys.stdin:
    turn = json.loads(line)
    if sys.argv[2] == "check":
        for error in validator.iter_errors(turn):
            print(turn["turn"], error.json_path, error.message[:300])
        continue
    paths = [(), ("upstream",)]
    if turn["sampling"]:
        paths += [("sampling",), ("sampling", "seed")]
    for path in paths:
        for what, copied in damaged(turn, path):
            if validator.is_valid(copied):
                print(turn["turn"], what)
END_OF_PYTHON

# validate check|damage: the records on the standard input; see $tmp/said.
validate()
{
	"$python" "$tmp/validate.py" docs/trace.schema.json "$1" >"$tmp/said" ||
		fail "the validator itself"
}

check_valid()
{
	zstdcat -qf "$1" >"$tmp/records"
	validate check <"$tmp/records"
	check "$1 is as the schema says" diff /dev/null "$tmp/said"
}

error='{"error":{"message":"no such model","code":404}}'
printf '%s' "$error" >"$tmp/error"
printf 'upstream is down' >"$tmp/text"
printf '[]' >"$tmp/list"
for stream in "$wire"/*/*.asked.sse; do
	printf '{"stream":"%s"}\n' "$stream"
done >"$tmp/script"
# Members of other types than they have.
cat >"$tmp/odd" <<-'END'
	data: {"id":1,"model":5,"system_fingerprint":{},"usage":[1],
	data: "prompt_token_ids":["a"],"choices":[{"finish_reason":"stop",
	data: "logprobs":{"content":[{"token":"token_id:07","logprob":-1}]}}]}

	data: [DONE]

END
printf '{"stream":"%s"}\n' "$tmp/odd" >>"$tmp/script"
streams=$(wc -l <"$tmp/script")
for body in "$wire"/*/*.asked.json; do
	printf '{"body":"%s"}\n' "$body"
done >>"$tmp/script"
cat >>"$tmp/script" <<-END
	{"status":404,"body":"$tmp/error"}
	{"status":503,"body":"$tmp/text"}
	{"body":"$tmp/text"}
	{"body":"$tmp/list"}
	{"fault":"cut","fault-after":900}
	{"fault":"cut","fault-after":900}
	{"fault":"close-before-head"}
	{"fault":"half-head"}
	{"fault":"html"}
	{"fault":"no-done"}
	{"fault":"no-finish"}
	{"fault":"error-event"}
	{"fault":"json-for-stream"}
	{"fault":"hang-after-finish"}
	{"first-delay":60000}
	{"header":["Server: fake/1","openai-version: 2020"]}
END
bodies=$(grep -c '"body":"/.*asked' "$tmp/script")
lines=$(wc -l <"$tmp/script")
start_upstream "${answers[@]}" --script "$tmp/script"
start_proxy --rollout-id 'r"1' --sampling '{"temperature":0.5,"seed":7}'
request '"stream":true,"temperature":1,"max_tokens":9,"top_p":"x",
	"tools":[{"type":"function","function":{"name":"read"}}]' \
	>"$tmp/tools.json"
session=(-H 'x-session-id: ses_1' -H 'x-parent-session-id: ses_0')
for ((i = 0; i < lines; i++)); do
	body=$tmp/whole.json
	((i >= streams)) || body=$tmp/stream.json
	((i < streams + bodies + 4)) || body=$tmp/tools.json
	ask answer "$body" "${session[@]}" --max-time 4 2>/dev/null || true
done
for body in '' '[1]' 'null' $'{"a":"\xff"}' '{"a":1'; do
	printf '%s' "$body" >"$tmp/body"
	ask answer "$tmp/body"
done
wait_until 5 "all records" has_records $((lines + 5))
check_valid "$TRACE"

# The endings that the schema tells apart were all there.
for seen in '.complete' '.complete | not' '.delivered | not' \
	'.side_effects == "possible"' 'has("request_base64")' \
	'.sampling == null' '.supersedes != null' '.upstream.headers != null' \
	'.upstream.status == null' '.prompt_token_ids != null' \
	'.finish_reason == "tool_calls"' '.token_status == "exact"' \
	'.token_status == "unconfirmed"' '.token_status == "none"' \
	'.token_status == "mismatch"' '.token_status == "logprobs_only"'; do
	check "a record of $seen" test \
		"$(trace | jq "select($seen).turn" | wc -l)" -gt 0
done

# Members of ours refused, and nobody there.
start_upstream --stream "$wire/openai/text.plain.sse" \
	--refuse return_token_ids --refuse logprobs
start_proxy --trace "$tmp/refused.jsonl"
ask answer "$tmp/stream.json"
check_json "$tmp/refused.jsonl" '.upstream.degraded | length > 1'
check_valid "$tmp/refused.jsonl"
kill_upstream
start_proxy --trace "$tmp/gone.jsonl"
ask answer "$tmp/stream.json" || true
check_valid "$tmp/gone.jsonl"

# The schema can fail: on any member that is gone, new or of another type, in
# each kind of record.
trace | jq -cs 'unique_by([.token_status, .complete, .delivered,
	.sampling == null, .upstream.dialect])[]' >"$tmp/records"
validate damage <"$tmp/records"
check "damaged records are refused" diff /dev/null "$tmp/said"
trace | jq -c 'select(.token_status == "exact")' | sed -n 1p >"$tmp/exact"
for change in '.schema = "octap.turn/2"' '.turn = 0' '.kind = "main"' \
	'.token_status = "perfect"' '.complete = null' '.attempt = 2' \
	'.abort_reason = "cut"' '.request_base64 = "e30="' \
	'.per_token_logps[0] = 0.5' '.per_token_logps[0] = -9999' \
	'.completion_token_ids[0] = "7"' '.completion_token_ids = []' \
	'.completion_tokens[0] = null' '.usage = null' '.finish_reason = "end"' \
	'.side_effects = "possible"' '.sampling.seed.source = "server"' \
	'.prefix_break = 3 | .prefix_of = null' '.upstream.degraded = ["n"]' \
	'.upstream.dialect = "tgi"' 'del(.logprobs[0].logprob)' \
	'.chunk_ms = [-1]' '.response.choices = []'; do
	jq -c "$change" "$tmp/exact" >"$tmp/changed"
	validate check <"$tmp/changed"
	check "refused: $change" test -s "$tmp/said"
done

# docs/trace.md tells of the same members.
in_code()
{
	grep -o '`[a-z][a-z0-9_]*`' | tr -d '`' | sort -u
}
check "the table's members" diff <(sed -nE \
	'/^\| member/,/^$/s/^\| (`[^|]*) \|.*/\1/p' docs/trace.md | in_code) \
	<(jq -r '.properties | keys[]' docs/trace.schema.json)
for member in $(jq -r '."$defs".upstream.properties | keys[]' \
	docs/trace.schema.json); do
	check "upstream.$member" grep -qx "$member" \
		<(grep '^| `upstream` |' docs/trace.md | in_code)
done
