#ifndef PROXY_ANSWER_H
#define PROXY_ANSWER_H

#include <stdint.h>

#include "proxy/assemble.h"
#include "proxy/rewrite.h"
#include "proxy/strip.h"
#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/sse.h"

/*
 * What happens to an answer's bytes, without any I/O: they are observed for the
 * record (assemble) and then edited for the agent (strip), in this order.
 *
 *	answer_init(&answer, &rewrite, start_us);
 *	answer_feed(&answer, bytes, now_us, &err)	of a stream, at once:
 *		write answer.out, then buf_clear() it
 *		answer.holding: the end is there
 *	answer_finish(&answer, now_us, &err)		the stream ended cleanly
 *	answer_whole(&answer, body, &err)		of a whole body instead
 *	... record answer.assembler ...
 *		write answer.held
 *	answer_release(&answer);
 *
 * [DONE] is held: it may only leave after the record is written, because an
 * agent that has it may exit at once.  What comes behind it is dropped: it would
 * depend on the network whether it came in time.
 */
struct answer {
	struct sse_parser sse;
	struct strip strip;
	struct assembler assembler;
	struct buf out;  /* for the agent now */
	struct buf held; /* for the agent after the record */
	bool holding;
	bool finish_passed; /* a finish_reason is among what went to `out` */

	/*
	 * Finishing events that wait for the usage event, which holds a member
	 * that belongs into them (strip.h).
	 */
	struct buf waiting;
	size_t *insert_at; /* where, by rising offset in `waiting` */
	size_t insert_count;
	bool added_error; /* answer_finish() had to end it with an error */
	bool dropped;     /* the last event */

	/* Takes secrets out of an error event; NULL: nothing does. */
	bool (*mask)(char *bytes, size_t len);

	/* While feeding. */
	uint64_t now_us;
	struct error err;
};

void answer_init(struct answer *answer, const struct rewrite *rewrite,
		 uint64_t start_us);
void answer_release(struct answer *answer);

/* False: the upstream exceeded a limit. */
bool answer_feed(struct answer *answer, struct span bytes, uint64_t now_us,
		 struct error *err) MUST_USE;

/*
 * Events that wait for another one have waited long enough: they go to `out` as
 * they are.
 */
bool answer_let_go(struct answer *answer, struct error *err) MUST_USE;

/*
 * A stream that ends without a finish_reason, and without saying why, gets an
 * error event before its end.
 */
bool answer_finish(struct answer *answer, uint64_t now_us,
		   struct error *err) MUST_USE;

/* The edited body goes to `held`. */
bool answer_whole(struct answer *answer, struct span body,
		  struct error *err) MUST_USE;

#endif
