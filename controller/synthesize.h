#ifndef CONTROLLER_SYNTHESIZE_H
#define CONTROLLER_SYNTHESIZE_H

#include "controller/message_parts.h"
#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/json_scan.h"
#include "shared/turn.h"

/*
 * Makes an answer of a chat-completions server from a recorded turn: whole, or
 * as the events of a stream, in vLLM's serialisation.
 *
 *	synthesize_begin(&s, &turn, &asked, &err);
 *	while (!s.done)
 *		synthesize_next(&s, &out, &tokens, &err);
 *	synthesize_release(&s);
 *
 * The stream has one event for each recorded chunk, with that chunk's tokens,
 * ids and log-probabilities.  Which text came with which chunk is not recorded:
 * the message is cut in proportion to the tokens' texts, which is exact where
 * the tokens are the message.  Tokens beyond the recorded chunks come with the
 * finish_reason.
 */
struct asked {
	bool stream;
	bool logprobs;
	bool token_ids;
	bool usage; /* the usage event of a stream */
};

/* What a request body asks for. */
struct asked asked_by(struct span request);

struct synthesis {
	const struct turn *turn;
	struct asked asked;
	struct message_parts message;
	struct json_cursor chunks, entries, ids, tokens;
	uint64_t weight_total, weight_sent; /* of the tokens' texts */
	uint64_t tokens_left;
	bool begun, finished, done;
};

bool synthesize_begin(struct synthesis *s, const struct turn *turn,
		      const struct asked *asked, struct error *err) MUST_USE;

/* Add the next event; *tokens: how many it brings. */
bool synthesize_next(struct synthesis *s, struct buf *out, uint64_t *tokens,
		     struct error *err) MUST_USE;
void synthesize_release(struct synthesis *s);

/* The same turn as a whole body. */
bool synthesize_whole(const struct turn *turn, const struct asked *asked,
		      struct buf *out, struct error *err) MUST_USE;

#endif
