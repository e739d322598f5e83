#ifndef CONTROLLER_ENDPOINT_H
#define CONTROLLER_ENDPOINT_H

#include "shared/compiler.h"
#include "shared/error.h"

/*
 * Where a model is: base URL, key, model id.
 *
 * What the user says comes first, then the environment variables of the kind,
 * then the kind's defaults:
 *
 *	kind		base URL		key		model
 *	vllm		VLLM_URL		VLLM_API_KEY	VLLM_MODEL
 *	openai		OPENAI_BASE_URL		OPENAI_API_KEY	OPENAI_MODEL
 *	hf_router	HF_ROUTER_BASE_URL	HF_ROUTER_API_KEY
 *							HF_ROUTER_MODEL
 *
 * A base URL without a path gets /v1.
 */
struct endpoint {
	const char *kind; /* as above, or "custom" */
	char *base_url;
	char *key;
	bool key_is_secret; /* no stand-in */
	char *model;
	bool disable_thinking; /* unless the user says otherwise */
	const char *token_ids; /* octap-proxy's --token-ids */
};

struct endpoint_choice {
	const char *kind;     /* NULL: told from what else is given */
	const char *base_url; /* NULL: not given */
	const char *model;
	const char *key_env; /* name of a variable that holds the key */
};

/* ERROR_USAGE says what is missing and where it could come from. */
bool endpoint_resolve(struct endpoint *endpoint,
		      const struct endpoint_choice *choice,
		      struct error *err) MUST_USE;

/* Wipes the key. */
void endpoint_release(struct endpoint *endpoint);

#endif
