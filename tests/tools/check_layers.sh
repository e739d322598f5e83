#!/usr/bin/env bash
#
# Refuse an include against the direction of dependencies: shared <- proxy,
# shared <- controller, never proxy <-> controller; and within shared, formats
# without libevent, curl and files.
set -euo pipefail

cd "$(dirname "$0")/../.."
status=0

# refuse FOLDER PATTERN FILE...
refuse()
{
	if grep -nE "^#include [\"<]($1)" "${@:2}"; then
		status=1
	fi
}

refuse '(proxy|controller|tests)/' shared/*.[ch]
refuse '(controller|tests)/' proxy/*.[ch]
refuse '(proxy|tests)/' controller/*.[ch] controller/*/*.[ch]
refuse 'controller/(rollout|batch|cmd)' controller/sandbox/*.[ch] \
	controller/agent/*.[ch]
refuse 'controller/sandbox/(bwrap|scratch|folder)' controller/*.[ch] \
	controller/cmd/*.[ch]

pure=(shared/{compiler,error,mem,span,buf,limits,base64}.h
	shared/json_{scan,bytes,grammar,text}.h
	shared/{error,mem,span,buf,base64,sse,turn,turn_decode,url,ca_bundle}.c
	shared/json_{scan,grammar,text,write}.c
	shared/request_{framing,head,target,kind}.c
	proxy/{splice,rewrite,strip,dialect,choice,assemble,assemble_turn}.c
	proxy/{token_status,answer,reply,request_path}.c)
refuse 'event2|curl/|shared/(file|loop|http_|trace|log)' "${pure[@]}"
exit $status
