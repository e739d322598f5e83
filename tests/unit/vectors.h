#ifndef TESTS_UNIT_VECTORS_H
#define TESTS_UNIT_VECTORS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shared/buf.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * Ways to feed a vector to an incremental parser: whole, one byte at a time,
 * and at seeded random splits.  Each piece lies directly before an unreadable
 * page, so that one byte read too many ends the test.  A piece is overwritten
 * by the next: who keeps a pointer into it is found out too.
 */
typedef void feed_fn(struct span piece, void *arg);

enum { FEED_WHOLE, FEED_BYTEWISE, FEED_RANDOM, FEED_WAYS = FEED_RANDOM + 20 };

/* Feed `text` in one of the ways 0 to FEED_WAYS - 1. */
void feed(struct span text, int way, feed_fn *fn, void *arg);

/* A copy of `text` before an unreadable page; guard_free() it. */
struct guarded {
	char *map;
	size_t size;
	struct span text;
};

struct guarded guard(struct span text);
void guard_free(struct guarded *guarded);

/* A file's bytes; the test fails without it.  buf_release() it. */
void load(const char *path, struct buf *bytes);

/*
 * Call `fn` for each file of a folder whose name has `part` in it, in no
 * particular order; how many there were.
 */
typedef void file_fn(const char *path, void *arg);
unsigned each_file(const char *folder, const char *part, file_fn *fn,
		   void *arg);

/* Call `fn` for the data of each event of a stream. */
typedef void data_fn(struct span data, void *arg);
void each_data(struct span stream, data_fn *fn, void *arg);

/* Each fails the test and says what was got instead. */
void check_bytes(const char *what, struct span got, struct span expected);
void check_text(struct span got, const char *expected);
void check_error(const struct error *err, enum error_kind kind,
		 const char *text_part);

/* Add to a buffer whose limit is out of reach. */
void put(struct buf *out, struct span bytes);
void putf(struct buf *out, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* A buffer for a test, with room for anything a test makes. */
struct buf test_buf(void);

/* A folder that is there for one test, with everything in it. */
struct folder {
	char path[64];
};

void temp_folder_make(struct folder *folder);
void temp_folder_remove(const struct folder *folder);
char *folder_file(const struct folder *folder, const char *name); /* free it */

/* What is written to stdout or stderr between the two calls. */
struct capture {
	int target; /* STDOUT_FILENO or STDERR_FILENO */
	int saved, file;
};

void capture_begin(struct capture *capture, int target);
void capture_end(struct capture *capture, struct buf *text);

/*
 * What becomes of a process that calls `fn`: its exit code (0 when `fn`
 * returns), or minus the signal that killed it.  Its stderr is thrown away.
 */
int fate_of(void (*fn)(void));

#endif
