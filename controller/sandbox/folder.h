#ifndef CONTROLLER_SANDBOX_FOLDER_H
#define CONTROLLER_SANDBOX_FOLDER_H

#include <stdint.h>
#include <sys/types.h>

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * A folder that a stranger could write in.
 *
 * Everything below it is reached by openat2(2) with RESOLVE_BENEATH and
 * RESOLVE_NO_SYMLINKS, and only regular files are read, so that no link, fifo
 * or ".." that an agent made leads out of it or makes us wait.  Paths are
 * relative to the folder.
 */
struct folder {
	int fd;
	uid_t owner; /* of what is made in it; (uid_t)-1: leave it ours */
};

/* `path` itself must be a folder of ours, no link. */
bool folder_open(struct folder *folder, const char *path, uid_t owner,
		 struct error *err) MUST_USE;
void folder_close(struct folder *folder);

/*
 * With its parents; existing ones are left as they are, but what is in the way
 * and no folder is replaced.
 */
bool folder_make(const struct folder *folder, const char *path, mode_t mode,
		 struct error *err) MUST_USE;

/* The same, but empty, in place of whatever had that name. */
bool folder_make_afresh(const struct folder *folder, const char *path,
			mode_t mode, struct error *err) MUST_USE;

/* In place of whatever had that name, parents made. */
bool folder_write(const struct folder *folder, const char *path,
		  struct span bytes, mode_t mode, struct error *err) MUST_USE;

/*
 * Add a regular file's bytes to `out`, whose limit they must not reach.
 * ERROR_ABSENT, or ERROR_REFUSED when it is none or not straight to reach.
 */
bool folder_read(const struct folder *folder, const char *path, struct buf *out,
		 struct error *err) MUST_USE;

/*
 * The same of a file of any size: of one with more than `limit` bytes the first
 * and the last half of so many.  *skipped: the bytes between, 0 if all is there.
 */
bool folder_read_ends(const struct folder *folder, const char *path,
		      size_t limit, struct buf *out, uint64_t *skipped,
		      struct error *err) MUST_USE;

/* Nothing is left at that path, but its parents are made. */
bool folder_clear(const struct folder *folder, const char *path,
		  struct error *err) MUST_USE;

/* Remove the file or tree of that name; none there is fine. */
bool folder_remove(const struct folder *folder, const char *name,
		   struct error *err) MUST_USE;

#endif
