#ifndef SHARED_REQUEST_TARGET_H
#define SHARED_REQUEST_TARGET_H

#include "shared/compiler.h"

/*
 * What a request's first line may ask for: a path, or an address by http or
 * https that has one or not (RFC 9112 section 3.2), a byte at a time.
 *
 * Stricter than RFC 3986 about the server that an address names, which nobody
 * is asked for: letters, digits, ".", "-", "_", and a port.
 */
struct request_target {
	int place;          /* an enum of the .c's */
	const char *scheme; /* which it may be, "://" included */
	unsigned len;       /* of scheme or server, so far */
	unsigned port;
};

void request_target_init(struct request_target *t);

/* False: no target goes on like this.  Bytes that no line holds are not looked
 * for. */
bool request_target_add(struct request_target *t, char c) MUST_USE;

/* It may end here. */
bool request_target_is_whole(const struct request_target *t) MUST_USE;

#endif
