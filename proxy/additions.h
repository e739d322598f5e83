#ifndef PROXY_ADDITIONS_H
#define PROXY_ADDITIONS_H

#include <stddef.h>

#include "shared/compiler.h"
#include "shared/json_write.h"
#include "shared/sampling.h"
#include "shared/span.h"

/*
 * What the proxy adds to requests of its own accord, and which of it a model
 * was found to refuse.  Sets are bit masks: 1u << ADDITION_....
 */
enum addition {
	ADDITION_TOP_LOGPROBS,
	ADDITION_LOGPROBS,
	ADDITION_LOGPROBS_WITH_TOOLS, /* logprobs in a stream with tools */
	ADDITION_N_PROBS,             /* llama.cpp's way, then */
	ADDITION_TOKEN_IDS,
	ADDITION_TOKEN_IDS_OF_STREAM, /* return_token_ids in a stream */
	ADDITION_SGLEXT,              /* SGLang's way, then */
	ADDITION_USAGE,
	ADDITION_THINKING,
	ADDITION_MAX_TOKENS,            /* a limit where the agent has none */
	ADDITION_MAX_COMPLETION_TOKENS, /* the same, or the agent's renamed */
	ADDITION_SAMPLING,              /* the first of sampling_names */
	ADDITION_COUNT = ADDITION_SAMPLING + SAMPLING_COUNT,
	ADDITION_NONE = ADDITION_COUNT,
};

/* The request's member that it is. */
const char *addition_name(enum addition addition);

/*
 * Which of the additions `added` does an answer with this status and body
 * refuse?  What servers are known to say counts most, then the error object's
 * `param`, then any mention as a word.  ADDITION_NONE: it is about the agent's
 * own request, or no refusal.
 */
enum addition addition_refused(unsigned status, struct span body,
			       unsigned added);

/* The members' names as a JSON array, each once. */
void additions_write(struct json_writer *jw, unsigned set);

/* What each model refused; the models asked for last are remembered. */
#define REFUSALS_MODELS 16

struct refusals {
	struct {
		char *model; /* JSON string; NULL: free */
		unsigned set;
	} models[REFUSALS_MODELS];
	size_t next; /* taken next */
};

void refusals_release(struct refusals *refusals);

/* `model`: a JSON string; empty where the request names none. */
unsigned refusals_of(const struct refusals *refusals, struct span model);
void refusals_add(struct refusals *refusals, struct span model,
		  enum addition addition);

/* It was not about these: the model refuses the request without them, too. */
void refusals_forget(struct refusals *refusals, struct span model,
		     unsigned set);

#endif
