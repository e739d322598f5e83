#ifndef PROXY_EXCHANGE_END_H
#define PROXY_EXCHANGE_END_H

#include "proxy/exchange_inside.h"
#include "proxy/reply.h"

/*
 * The ends of an exchange: every exchange_end_*() decides what the agent gets
 * and what is recorded, and enters EXCHANGE_RECORDING.
 */

/* An error of our own instead of what the upstream did. */
void exchange_end_refused(struct exchange *x, enum reply_error which,
			  const struct error *why);

/* The connection breaks where the answer did. */
void exchange_end_cut(struct exchange *x, const struct error *why);

/*
 * The stream goes on, but not through here: an error event of our own, unless
 * the agent has its finish_reason, and the end.
 */
void exchange_end_unusable(struct exchange *x, const struct error *why);

/* The stream is over, in whatever way it ended. */
void exchange_end_stream(struct exchange *x);

/* `body` is whole: an answer, or the upstream's own refusal. */
void exchange_end_whole(struct exchange *x);
void exchange_end_upstream_refused(struct exchange *x);

/* EXCHANGE_RECORDING: record the turn, then give the agent the end. */
void exchange_record(struct exchange *x);

#endif
