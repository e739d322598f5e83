#ifndef PROXY_TOKEN_LIMIT_H
#define PROXY_TOKEN_LIMIT_H

#include <stdint.h>

#include "proxy/additions.h"
#include "proxy/request_edit.h"
#include "shared/span.h"

/*
 * How many tokens an answer may have: the agent's limit, by whichever of its
 * two names, lowered to the cap and told by the name that the model takes.
 */
struct token_limit {
	struct span value;  /* as sent; empty: none */
	const char *source; /* as in the record's `sampling` */
	unsigned added;     /* set of additions */
};

struct token_limit_rules {
	struct span model; /* a JSON string or empty */
	uint64_t cap;      /* 0: none */
	unsigned left_out; /* the additions that this model refused */
};

struct token_limit token_limit_plan(struct request_edit *e,
				    const struct token_limit_rules *rules);

#endif
