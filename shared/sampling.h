#ifndef SHARED_SAMPLING_H
#define SHARED_SAMPLING_H

#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * The sampling parameters that octap can set in a request, by the names that
 * vLLM and SGLang give them, which for those it knows are OpenAI's:
 * https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
 */
#define SAMPLING_COUNT 8
extern const char *const sampling_names[SAMPLING_COUNT];

/*
 * Is this a value of --sampling: a JSON object of sampling_names, each a
 * number?  Else ERROR_USAGE that names the member.
 */
bool sampling_check(struct span json, struct error *err) MUST_USE;

#endif
