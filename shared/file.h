#ifndef SHARED_FILE_H
#define SHARED_FILE_H

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * Files of our own and of the user's.  What an agent could have touched is not
 * opened here but beneath its folder (controller/sandbox/folder.h).
 */

/* Add all of a file (or a pipe, or what /dev/fd/N names) to `out`. */
bool file_read(const char *path, struct buf *out, struct error *err) MUST_USE;
bool file_read_fd(int fd, struct buf *out, struct error *err) MUST_USE;

/* Is it a regular file that could be read? */
bool file_is_readable(const char *path) MUST_USE;

/* All of `bytes`; errno on failure. */
bool file_write_fd(int fd, struct span bytes);

/* In place of what was there; for what can be made again. */
bool file_write(const char *path, struct span bytes,
		struct error *err) MUST_USE;

/* To a temporary name beside it, synced, renamed: whole or not at all. */
bool file_write_atomic(const char *path, struct span bytes,
		       struct error *err) MUST_USE;

/* mkdir -p */
bool file_make_dirs(const char *path, struct error *err) MUST_USE;

/* Why this text can be no key, as the end of a sentence; NULL: it can. */
const char *secret_fault(struct span text);

/*
 * A secret: the file's text without the white space around it.  One that can be
 * no key is refused.  The caller wipes and frees it.
 */
bool file_read_secret(const char *path, char **secret,
		      struct error *err) MUST_USE;

#endif
