#ifndef PROXY_TOKEN_LIMIT_H
#define PROXY_TOKEN_LIMIT_H

#include <stdint.h>

#include "proxy/request_edit.h"
#include "shared/span.h"

/*
 * How many tokens an answer may have: the agent's limit, by whichever of its
 * two names, lowered to the cap and told by the name that the model takes.
 */
struct token_limit {
	struct span value;  /* as sent; empty: none */
	const char *source; /* as in the record's `sampling` */
};

/* `model`: a JSON string or empty; `cap` 0: none. */
struct token_limit token_limit_plan(struct request_edit *e, struct span model,
				    uint64_t cap);

#endif
