#ifndef PROXY_CHOICE_H
#define PROXY_CHOICE_H

#include <stdint.h>

#include "proxy/message.h"
#include "proxy/spill.h"
#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/json_scan.h"
#include "shared/json_write.h"
#include "shared/span.h"

/*
 * One choice of an answer, put together from a stream's chunks or read from a
 * whole body.  Numbers are copied as text.
 */
struct choice {
	uint64_t index; /* the server's own */
	struct message message;
	struct buf finish_reason; /* JSON string; empty: none yet */
	struct buf unjoined; /* as that of the message, of members beside */

	/* JSON arrays, empty or without the closing bracket. */
	struct spool logprobs; /* entries of logprobs.content */
	struct buf tokens;     /* their `token` */
	struct buf logps;      /* their `logprob` */
	struct buf ids;        /* token_ids or response_token_ids */
	struct buf told_ids;   /* the id each entry itself tells, or
				null; empty when none tells any */
	size_t entry_count;
	size_t id_count;
	size_t told_count;
	bool bad_entry; /* without a token or a usable log-probability, or
			   an id that is no number, or a member given twice */

	struct buf prompt_ids; /* JSON array, where a choice tells them */
};

/* Its log-probabilities may go to `spill`; NULL: all stays in memory. */
void choice_init(struct choice *choice, uint64_t index, struct spill *spill);
void choice_release(struct choice *choice);

/*
 * Add the element of `choices` that comes next, a well-formed object, which is
 * consumed: its delta (of a stream) or message (of a whole body),
 * log-probabilities, ids and finish_reason.  *tokens: how many it brought;
 * *text: whether it brought any text or call.
 */
bool choice_add(struct choice *choice, struct json_cursor *c, size_t *tokens,
		bool *text, struct error *err) MUST_USE;

/* Ids that came apart from the choice; *ids: a JSON array. */
bool choice_add_ids(struct choice *choice, struct json_value ids,
		    struct error *err) MUST_USE;

/* It ended for a reason that the chat-completions API knows. */
bool choice_is_finished(const struct choice *choice);

/*
 * As an element of a chat.completion; with its log-probabilities, which must
 * be in memory, and ids?
 */
void choice_write(const struct choice *choice, bool with_tokens,
		  struct json_writer *jw);

/*
 * The ids given, or what the entries tell, as an array without the closing
 * bracket; NULL if neither is complete.
 */
const struct buf *choice_ids(const struct choice *choice);

#endif
