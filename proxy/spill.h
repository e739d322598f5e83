#ifndef PROXY_SPILL_H
#define PROXY_SPILL_H

#include <stddef.h>
#include <stdint.h>

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * Where the large part of long answers waits for the record: a file without a
 * name, which is gone with the process however that ends.
 *
 * The file is cut into extents of one size.  A spool is a row of bytes, the
 * last of which are in memory and all earlier ones in extents of its own; they
 * are given back when it is released, and the file is emptied when it has no
 * spool left.  Spools belong to the loop's thread; one that no longer changes
 * may be read from another.
 *
 * A thread of its own writes, so that a slow disk holds up nobody before
 * SPILL_WAITING extents wait for it.  A spill that cannot be written is no
 * failure: its spools stay in memory.
 */
#define SPILL_WAITING 16

struct spill;

/* In the folder of that file; NULL, after a word in the log: cannot be. */
struct spill *spill_open(const char *beside);
void spill_free(struct spill *spill);

/* Let nothing more into the file: it cannot be read. */
void spill_give_up(struct spill *spill);

/* Bytes in the file now. */
uint64_t spill_size(const struct spill *spill);

struct spool {
	struct spill *spill; /* NULL: all of it stays in memory */
	struct buf rest;     /* what comes after the extents */
	struct extent **extents;
	size_t count;
	size_t limit;
};

void spool_init(struct spool *spool, struct spill *spill, size_t limit);
void spool_release(struct spool *spool);

bool spool_add(struct spool *spool, struct span bytes,
	       struct error *err) MUST_USE;
bool spool_is_empty(const struct spool *spool);

/* None of it is in the file: `rest` is all. */
bool spool_in_memory(const struct spool *spool);

/*
 * Hand out the bytes, in order and in pieces, until `fn` returns false (having
 * set the error).
 */
typedef bool spool_piece_fn(struct span piece, void *arg, struct error *err);
bool spool_each(const struct spool *spool, spool_piece_fn *fn, void *arg,
		struct error *err) MUST_USE;

#endif
