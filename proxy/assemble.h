#ifndef PROXY_ASSEMBLE_H
#define PROXY_ASSEMBLE_H

#include <stdint.h>

#include "proxy/choice.h"
#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"
#include "shared/turn.h"

/*
 * Puts one model call's answer together for the record: the chunks of a stream
 * or a whole body, as the upstream sent them.
 *
 *	assemble_init(&a, start_us);
 *	assemble_event(&a, data, now_us, &err)	for each event's data, or
 *	assemble_response(&a, body, &err)	for a whole body, or
 *	assemble_refusal(&a, status, body, &err)
 *	assemble_finish(&a, &turn, &err);
 *	... the turn borrows from `a` ...
 *	assemble_release(&a);
 *
 * Nothing is ever padded or retokenised.
 */
struct assembler {
	uint64_t start_us;
	uint64_t first_us; /* of the first event with a choice; 0: none yet */
	struct choice *choices;
	size_t choice_count;
	struct buf id, created, model; /* JSON values; empty: not given */
	struct buf system_fingerprint, service_tier;
	struct buf usage, prompt_ids, error;
	struct buf chunk_tokens, chunk_ms; /* as the lists of a choice */
	struct buf response; /* the record's; the upstream's own if `whole` */
	struct spill *spill; /* for the first choice; NULL: memory */
	const struct json_index *index; /* of the next event, or NULL */
	bool whole;
	bool unreadable; /* an event was no JSON object */
	bool finished;
};

void assemble_init(struct assembler *a, uint64_t start_us);
void assemble_release(struct assembler *a);

/* Data that is no JSON object is passed over, and noted. */
bool assemble_event(struct assembler *a, struct span data, uint64_t now_us,
		    struct error *err) MUST_USE;
bool assemble_response(struct assembler *a, struct span body,
		       struct error *err) MUST_USE;

/* `status` 0: no answer came; `body` is then a text of ours. */
bool assemble_refusal(struct assembler *a, unsigned status, struct span body,
		      struct error *err) MUST_USE;

/* Choice 0, whose tokens are the record's own; NULL: it did not come. */
struct choice *assemble_first(const struct assembler *a);

/* Tokens that came, of all choices. */
uint64_t assemble_tokens(const struct assembler *a);

/* The answer held an error object. */
bool assemble_has_error(const struct assembler *a);

/*
 * Choices came, the first among them, and each ended for a reason that the API
 * knows.  After an answer without, opencode asks again and again.
 */
bool assemble_is_finished(const struct assembler *a);

/*
 * Where log-probabilities may go that are too many for memory: only those that
 * are the record's own.  NULL, as at first: nowhere.
 */
void assemble_spill_to(struct assembler *a, struct spill *spill);

/*
 * The log-probabilities that assemble_finish() left out of the turn because
 * they are not in memory; NULL: it has them all.
 */
const struct spool *assemble_spilled(const struct assembler *a);

/*
 * Fill the turn's response, tokens, token_status, usage and upstream names.
 * They live as long as `a`, to which nothing may be added any more.
 */
bool assemble_finish(struct assembler *a, struct turn *turn,
		     struct error *err) MUST_USE;

#endif
