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

	/* How it is asked. */
	bool asks_token_ids;    /* return_token_ids, but: */
	bool ids_in_sglext;     /* in a stream return_..._ids_in_sglext */
	bool n_probs_for_tools; /* n_probs for logprobs with tools in a stream */

	/* The log-probabilities it gives by default. */
	const char *logprobs_mode;

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
 * By the name of the dialect (for --dialect), or by what `owned_by` says in its
 * list of models.  NULL: there is none such.
 */
const struct dialect *dialect_by_name(const char *name);
const struct dialect *dialect_by_owner(struct span owner);

/*
 * Told from one event or whole body.  `dialect_plain` when nothing in it gives
 * the server away.
 */
extern const struct dialect dialect_plain;
const struct dialect *dialect_of_answer(struct span object);

#endif
