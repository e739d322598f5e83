#ifndef PROXY_SHIELD_H
#define PROXY_SHIELD_H

#include <stdint.h>

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * What of a model server's refusal would make opencode do the wrong thing.
 *
 * opencode 1.18 asks again, five times and for more than a minute, when the text
 * of an error matches one of its patterns (status numbers, "rate limit",
 * "try again" ...), even if the status says that asking again is of no use: a
 * 400 about "15000 tokens" has a 500 in it.  And it takes a conversation for too
 * long for the model only by a certain code.
 */

/* To ask again is of no use. */
bool shield_is_final(unsigned status);

/*
 * Is this refusal final by its status, and its text would be taken for one that
 * is not, or is it about the context's length and does not say so?
 */
bool shield_needed(unsigned status, struct span body);

bool shield_is_about_context(struct span body);

/* The error object to send instead. */
bool shield_write(struct span body, struct buf *out,
		  struct error *err) MUST_USE;

/*
 * No later than `most_s` seconds: what is to be said instead of this value of
 * Retry-After (a number or an HTTP date) or, in milliseconds, Retry-After-Ms.
 * False: it may stay.
 */
bool shield_retry_after(const char *value, bool in_ms, uint64_t most_s,
			char instead[24]);

#endif
