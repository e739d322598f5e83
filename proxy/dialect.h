#ifndef PROXY_DIALECT_H
#define PROXY_DIALECT_H

#include <stdbool.h>
#include <stddef.h>

#include "shared/span.h"

/*
 * How the OpenAI-compatible servers differ in what they print, as data.
 * tests/data/wire holds answers in each server's own serialisation, and beside
 * them where every fact here comes from.
 */

/* A member that a server prints because we asked for something. */
struct dialect_member {
	const char *name;  /* NULL ends a list */
	bool null_unasked; /* printed as null unasked; else not at all */
};

struct dialect {
	const char *name;

	/*
	 * `logprobs` of a choice.  Where not even this is known (NULL name), it
	 * counts whether the stream printed a null before.
	 */
	struct dialect_member logprobs;

	/* Token ids, in a choice and in the outermost object. */
	struct dialect_member choice_ids[3];
	struct dialect_member root_ids[2];

	/* `usage:null` in each chunk is there only with include_usage. */
	bool usage_null_asked;

	/* The one member that may be null in a delta that carries nothing. */
	const char *idle_delta_member;

	/*
	 * A member that include_usage moves from the event with the
	 * finish_reason to the usage event; NULL: none.  Its own place is right
	 * after `choices`, or else at the end.
	 */
	const char *moved_member;
	bool moved_after_choices;
};

/*
 * Told from one event or whole body.  `dialect_plain` when nothing in it gives
 * the server away.
 */
extern const struct dialect dialect_plain;
const struct dialect *dialect_of_answer(struct span object);

#endif
