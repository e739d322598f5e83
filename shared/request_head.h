#ifndef SHARED_REQUEST_HEAD_H
#define SHARED_REQUEST_HEAD_H

#include <stdint.h>

#include "shared/compiler.h"
#include "shared/span.h"

/*
 * What the head of a request says of its body and of what it expects, gathered
 * while request_framing.h reads it, and whether that is to be had.  It begins
 * as zeros; `old` is set from outside.
 */
struct request_head {
	uint64_t length;
	unsigned hosts, lengths, encodings; /* headers of that name */
	bool old;                           /* HTTP/1.0 */
	bool has_method;                    /* that the server has */
	bool has_body_method;
	bool expects; /* something other than to continue */
};

void request_head_method(struct request_head *h, struct span method);

/*
 * A header; values too long to be of use may come as SPAN_NONE.  Returns what
 * is malformed about it; NULL: nothing.
 */
const char *request_head_field(struct request_head *h, const char *name,
			       struct span value) MUST_USE;

/* The head is whole: the status to refuse it with, and why; 0: none. */
unsigned request_head_fault(const struct request_head *h,
			    const char **why) MUST_USE;

#endif
