#ifndef TESTS_FAKE_UPSTREAM_ANSWER_H
#define TESTS_FAKE_UPSTREAM_ANSWER_H

#include <stdint.h>

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"
#include "tests/fake/upstream_plan.h"

/*
 * An answer of the fake model server as the pieces that go out one by one, and
 * how the connection ends after the last.
 */
enum upstream_ending {
	ENDING_KEEP,  /* the next request may come */
	ENDING_CLOSE, /* FIN */
	ENDING_RESET, /* RST */
	ENDING_HANG,  /* nothing more, until the peer goes */
};

struct upstream_answer {
	const struct upstream_plan *plan; /* NULL: no faults, no delays */
	struct buf head;
	void *map; /* the file */
	size_t map_len;
	struct buf edited; /* its text after a fault, or a text of ours */
	struct span body;
	size_t sent;  /* of the body */
	size_t limit; /* of the body's bytes that go out */
	unsigned seed;
	bool chunked;
	bool head_sent, ended;
	enum upstream_ending ending;
};

/* To a model call with this body. */
bool upstream_answer_call(struct upstream_answer *answer,
			  const struct upstream_plan *plan, struct span request,
			  struct error *err) MUST_USE;

/* A JSON text of ours. */
bool upstream_answer_json(struct upstream_answer *answer, unsigned status,
			  const char *json, struct error *err) MUST_USE;

/* Add the next piece to `out`; nothing added: it was the last. */
bool upstream_answer_next(struct upstream_answer *answer, struct buf *out,
			  struct error *err) MUST_USE;

void upstream_answer_release(struct upstream_answer *answer);

#endif
