#ifndef SHARED_BUF_H
#define SHARED_BUF_H

#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * A growable byte buffer with a hard limit.
 *
 * Everything whose size a peer decides is kept in one of these, so the limit
 * is the only answer to "how large can it get?".  Reaching it is an ordinary
 * error (ERROR_TOO_LARGE) and leaves the buffer as it was.
 *
 * Invariants: `data` is NUL-terminated past `len` once anything was added;
 * `len` < `limit`.
 */
struct buf {
	char *data;
	size_t len;
	size_t alloc;
	size_t limit;
};

void buf_init(struct buf *buf, size_t limit);
void buf_release(struct buf *buf);

/* Empty, but keep the memory for the next use. */
void buf_clear(struct buf *buf);

bool buf_add(struct buf *buf, struct span bytes, struct error *err) MUST_USE;
bool buf_addf(struct buf *buf, struct error *err, const char *fmt, ...) MUST_USE
	PRINTF_LIKE(3, 4);

/* Room for `len` bytes more, so that adding them will not fail. */
bool buf_reserve(struct buf *buf, size_t len, struct error *err) MUST_USE;

/* Drop the first `len` bytes; the rest moves to the front. */
void buf_consume(struct buf *buf, size_t len);

/* Borrowed: valid until the buffer is next changed. */
struct span buf_span(const struct buf *buf);

/* Hand the bytes to the caller, who frees them; the buffer is empty again. */
char *buf_detach(struct buf *buf, size_t *len);

#endif
