#!/usr/bin/env bash
#
# The demo: one rollout of the fizzbuzz task with the real opencode.
#
# Without a model endpoint (in the environment or as options of `octap run`) the
# model is `octap replay` with answers that were scripted by hand.
set -euo pipefail

cd "$(dirname "$0")/../.."
bin=${BIN:-build/release/bin}
out=build/demo/$(date +%Y%m%d-%H%M%S)-$$
run=("$bin/octap" run templates/demo/task.json
	--agent-binary build/agent/opencode --out "$out")

has_endpoint()
{
	local option

	for option in "$@"; do
		case $option in
		--base-url* | --endpoint*) return 0 ;;
		esac
	done
	[[ ${VLLM_URL:-}${OPENAI_BASE_URL:-}${OPENAI_API_KEY:-} ||
		${HF_ROUTER_BASE_URL:-}${HF_ROUTER_API_KEY:-} ]]
}

if has_endpoint "$@"; then
	exec "${run[@]}" "$@"
fi

# The model server ends with this script: it reads the port from a pipe that
# stays open.
exec 3< <(exec "$bin/octap" replay templates/demo/scripted.jsonl)
replay=$!
trap 'kill "$replay"' EXIT
read -r -t 10 line <&3 || {
	echo "octap replay did not start" >&2
	exit 1
}
port=${line##*\"port\":}
port=${port%%,*}
echo "No model endpoint is set: the answers are scripted by hand."
"${run[@]}" --base-url "http://127.0.0.1:$port/v1" --model scripted-demo "$@"
