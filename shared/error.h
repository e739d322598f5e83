#ifndef SHARED_ERROR_H
#define SHARED_ERROR_H

#include <stdbool.h>

#include "shared/compiler.h"

/*
 * Why something failed.
 *
 * A function that can fail returns bool and takes a `struct error *` last.
 * On false it has filled the error exactly once and left every out-parameter
 * untouched; on true it has not touched the error.  The kind decides what the
 * caller does (retry, answer 4xx, give up); the text is for people only.
 */
enum error_kind {
	ERROR_NONE = 0,
	ERROR_USAGE,       /* the user's command line or task file */
	ERROR_MALFORMED,   /* bytes from a peer that do not parse */
	ERROR_TOO_LARGE,   /* a buffer's limit was reached */
	ERROR_TIMEOUT,     /* a peer said nothing for too long */
	ERROR_ABSENT,      /* there is nothing of that name */
	ERROR_REFUSED,     /* a peer said no: 4xx, bad key, no such template */
	ERROR_UNAVAILABLE, /* a peer may say yes later: 429, 5xx, reset */
	ERROR_SYSTEM,      /* errno */
	ERROR_CANCELLED,   /* by us or by the user */
};

struct error {
	enum error_kind kind;
	char text[240];
};

#define ERROR_INIT                             \
	{                                      \
		.kind = ERROR_NONE, .text = "" \
	}

/* Fill and return false, so that `return error_set(...)` reads as one step. */
bool error_set(struct error *err, enum error_kind kind, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

/* Kind ERROR_SYSTEM; the text ends in ": " and strerror(errnum). */
bool error_set_errno(struct error *err, int errnum, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

/*
 * Prefix the text with what was being done: "create sandbox: ...".  Returns
 * false.  What no longer fits is cut at the end.
 */
bool error_wrap(struct error *err, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* May the same call succeed if made again? */
bool error_is_transient(const struct error *err);

/* "timeout", "refused" ...; never NULL. */
const char *error_kind_name(enum error_kind kind);

#endif
