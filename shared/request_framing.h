#ifndef SHARED_REQUEST_FRAMING_H
#define SHARED_REQUEST_FRAMING_H

#include <stdint.h>

#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/request_head.h"
#include "shared/request_target.h"
#include "shared/span.h"

/*
 * Where HTTP/1 requests begin and end, read strictly by RFC 9112.
 *
 * Two readers that disagree about the end of a request are how one is smuggled
 * past the other.  So everything that has more than one reading is an error
 * here: two lengths, a length that is not digits alone, a length beside
 * chunks, an encoding other than `chunked`, folded lines, bare line feeds,
 * space before a colon, a body with a method that has none.  Refused although
 * RFC 9112 lets them pass: empty lines before a request, and chunk extensions;
 * methods that the server does not have, and what else it is expected to do than
 * to continue.
 *
 * A connection's bytes are fed as they come; nothing is kept of them but what
 * is needed to find the end.
 */
struct request_framing {
	int state;         /* an enum of the .c's */
	uint64_t requests; /* that are whole */
	unsigned fault;    /* the status to refuse with; 0: none so far */

	/* Of the request under way. */
	uint64_t head_bytes; /* trailers included */
	uint64_t body_bytes;
	uint64_t left; /* of the body or chunk; the chunk's length so far */
	unsigned chunk_digits;
	bool in_trailer;
	struct request_target target;
	struct request_head head;

	/* The beginning of the word, name or value under way. */
	char word[24];
	size_t word_len; /* all of it */
	char name[24];
};

void request_framing_init(struct request_framing *f);

/*
 * False: these bytes are not to be acted upon, and nothing after them; `fault`
 * is then 400, 413 (LIMIT_HTTP_BODY), 417 (Expect), 431 (LIMIT_HTTP_HEADERS) or
 * 501 (the method), the error says why.
 */
bool request_framing_feed(struct request_framing *f, struct span bytes,
			  struct error *err) MUST_USE;

/* Bytes that are surely still to come of the body, or of its chunk. */
uint64_t request_framing_body_left(const struct request_framing *f);

/*
 * The next bytes, as many of them as are surely within a body, without looking
 * at them; how many that were.
 */
size_t request_framing_skip(struct request_framing *f, size_t len);

/* A request has begun and is not whole. */
bool request_framing_in_request(const struct request_framing *f);

#endif
