#ifndef SHARED_TRACE_H
#define SHARED_TRACE_H

#include <stdint.h>

#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * A trace file: the records of one rollout, one line each.
 *
 * A path that ends in ".zst" is a zstd frame (RFC 8878) that every reader can
 * read whole at every moment: each append flushes the encoder and ends the
 * frame anew with an empty last block, which the next append overwrites.  One
 * encoder lives as long as the writer, so the history that each request repeats
 * costs almost nothing.  Any other path gets plain JSON lines.
 *
 * The file is locked (flock) while a writer has it open.  A file that an
 * earlier writer left is read, written anew as one frame and replaced by
 * rename; one whose first line is not a record of ours is refused.
 *
 * A reader that races an append may see half of it: it should retry.
 */
struct trace_writer;

struct trace_writer *trace_create(const char *path, struct error *err);

/*
 * The highest number of a turn that the file held when it was opened: numbering
 * goes on after it.
 */
uint64_t trace_last_turn(const struct trace_writer *writer);

/*
 * Append one line (given without its line feed).  On failure the file is as it
 * was before, and the line is kept and written before the next one, or if that
 * cannot be (trace_kept()) it is dropped.
 */
bool trace_append(struct trace_writer *writer, struct span line,
		  struct error *err) MUST_USE;

/*
 * The same in parts: trace_add() all of the line, then trace_end_line().  A
 * line whose parts cannot all be had or added must be dropped: it is then as if
 * it had never been begun, but that another frame begins with the next one.
 */
bool trace_add(struct trace_writer *writer, struct span part,
	       struct error *err) MUST_USE;
bool trace_end_line(struct trace_writer *writer, struct error *err) MUST_USE;
void trace_drop_line(struct trace_writer *writer);

/* Was the last line kept that could not be appended or ended? */
bool trace_kept(const struct trace_writer *writer);

/*
 * Write what an earlier failure left over, if anything.  Like each append, this
 * makes a file anew that was removed, with all its records.
 */
bool trace_flush(struct trace_writer *writer, struct error *err) MUST_USE;

void trace_writer_free(struct trace_writer *writer);

/* Reads both forms, told apart by their first bytes. */
struct trace_reader;

struct trace_reader *trace_open(const char *path, struct error *err);

enum trace_read {
	TRACE_LINE,      /* a whole line, borrowed until the next call */
	TRACE_END,       /* all of the file was read */
	TRACE_TRUNCATED, /* the file ends in the middle: a torn write */
	TRACE_FAILED,    /* see the error */
};

enum trace_read trace_next(struct trace_reader *reader, struct span *line,
			   struct error *err) MUST_USE;
void trace_reader_free(struct trace_reader *reader);

#endif
