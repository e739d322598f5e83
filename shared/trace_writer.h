#ifndef SHARED_TRACE_WRITER_H
#define SHARED_TRACE_WRITER_H

#include <stddef.h>
#include <sys/types.h>
#include <zstd.h>

#include "shared/buf.h"
#include "shared/trace.h"

/*
 * The inside of a writer, for trace.c (which appends) and trace_create.c (which
 * opens the file and takes over what an earlier writer left).
 */
struct trace_writer {
	char *path;
	int fd;
	bool compressed;
	ZSTD_CCtx *encoder; /* made at the first record */
	off_t end;          /* of what is safely in the file, seal excluded */
	struct buf pending; /* bytes for `end`, not yet written */
	size_t line_start;  /* in `pending`, of the line under way */
	bool in_line;
	bool frame_over;    /* the next line begins another */
	bool kept;          /* what could not be written is in `pending` */
	uint64_t last_turn; /* of those found */
};

/* A compressed file without a record. */
bool trace_write_empty(struct trace_writer *w, struct error *err) MUST_USE;

#endif
