/*
 * Writing a trace.
 *
 * State of a compressed file: `end` bytes of blocks, then the seal, an empty
 * last block of 3 bytes.  An append writes new blocks and a new seal over the
 * old one in a single pwrite; a crash in between leaves at worst a frame
 * without its seal, which loses no earlier record.  No content checksum: the
 * seal could not know it.
 *
 * What an encoder was given it refers to later.  After a line that was dropped
 * half-way it begins afresh, with another frame behind the seal.
 */
#include "shared/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "shared/buf.h"
#include "shared/json_scan.h"
#include "shared/json_text.h"
#include "shared/limits.h"
#include "shared/mem.h"
#include "shared/turn.h"

#define COMPRESSION_LEVEL 1
#define WINDOW_LOG        22 /* 4 MiB: two records and what is between them */

/* A larger buffer is given back after use. */
#define PENDING_KEPT (1u << 20)

static const char seal[] = "\x01\0\0";

/* A frame with no content and the window above, as the encoder begins it. */
static const char empty_frame[] = "\x28\xB5\x2F\xFD\0\x60\x01\0\0";

#define SEAL        span_from(seal, 3)
#define EMPTY_FRAME span_from(empty_frame, 9)

struct trace_writer {
	char *path;
	int fd;
	bool compressed;
	ZSTD_CCtx *encoder; /* made at the first record */
	off_t end;          /* of what is safely in the file, seal excluded */
	struct buf pending; /* bytes for `end`, not yet written */
	size_t line_start;  /* in `pending`, of the line under way */
	bool in_line;
	bool frame_over; /* the next line begins another */
	bool kept;       /* what could not be written is in `pending` */
	uint64_t records_found;
	uint64_t last_turn; /* of them */
};

static bool write_at(int fd, struct span bytes, off_t at)
{
	while (bytes.len) {
		ssize_t put = pwrite(fd, bytes.data, bytes.len, at);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0) {
			errno = put ? errno : ENOSPC;
			return false;
		}
		bytes = span_after(bytes, (size_t)put);
		at += put;
	}
	return true;
}

/* After a write that failed half-way: the file as it was before. */
static void restore(struct trace_writer *w)
{
	struct span tail = SPAN_NONE;

	if (w->compressed)
		tail = w->end ? SEAL : EMPTY_FRAME;
	if (write_at(w->fd, tail, w->end) &&
	    ftruncate(w->fd, w->end + (off_t)tail.len) < 0)
		return; /* nothing more can be done */
}

static bool copy_bytes(int from, int to, off_t len)
{
	off_t at = 0;

	while (at < len)
		if (sendfile(to, from, &at, (size_t)(len - at)) <= 0)
			return false;
	return true;
}

/*
 * Somebody has removed the file, of which ours is the last descriptor: what it
 * holds goes into a new one.
 */
static bool put_back(struct trace_writer *w, struct error *err)
{
	struct stat status;
	int fd;

	if (fstat(w->fd, &status) < 0 || status.st_nlink)
		return true;
	fd = open(w->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return error_set_errno(
			err, errno, "%s was removed and cannot be made again",
			w->path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 ||
	    !copy_bytes(w->fd, fd, status.st_size)) {
		error_set_errno(err, errno, "%s was removed: write it again",
				w->path);
		unlink(w->path);
		close(fd);
		return false;
	}
	close(w->fd);
	w->fd = fd;
	return true;
}

bool trace_flush(struct trace_writer *w, struct error *err)
{
	off_t len = (off_t)w->pending.len;
	int saved;

	if (!put_back(w, err))
		return false;
	if (!len)
		return true;
	if (w->compressed && !buf_add(&w->pending, SEAL, err))
		return false;
	if (write_at(w->fd, buf_span(&w->pending), w->end)) {
		w->end += len;
		if (w->pending.alloc > PENDING_KEPT)
			buf_release(&w->pending);
		else
			buf_clear(&w->pending);
		return true;
	}
	saved = errno;
	w->pending.len = (size_t)len;
	restore(w);
	return error_set_errno(err, saved, "write %s", w->path);
}

static bool make_encoder(struct trace_writer *w, struct error *err)
{
	ZSTD_CCtx *z = ZSTD_createCCtx();

	if (!z ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(z, ZSTD_c_compressionLevel,
						COMPRESSION_LEVEL)) ||
	    ZSTD_isError(
		    ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, WINDOW_LOG)) ||
	    ZSTD_isError(ZSTD_CCtx_setParameter(
		    z, ZSTD_c_enableLongDistanceMatching, 1))) {
		ZSTD_freeCCtx(z);
		return error_set(err, ERROR_SYSTEM, "no zstd encoder");
	}
	w->encoder = z;
	return true;
}

static bool compress(struct trace_writer *w, struct span text,
		     ZSTD_EndDirective directive, struct error *err)
{
	ZSTD_inBuffer in = { text.data, text.len, 0 };
	size_t left;

	do {
		ZSTD_outBuffer out;

		/* There must always be room for a seal. */
		if (!buf_reserve(&w->pending, ZSTD_CStreamOutSize() + SEAL.len,
				 err))
			return error_wrap(err, "unwritten records");
		out = (ZSTD_outBuffer){
			.dst = w->pending.data + w->pending.len,
			.size = w->pending.alloc - w->pending.len - SEAL.len -
				1,
		};
		left = ZSTD_compressStream2(w->encoder, &out, &in, directive);
		if (ZSTD_isError(left))
			return error_set(err, ERROR_SYSTEM, "zstd: %s",
					 ZSTD_getErrorName(left));
		w->pending.len += out.pos;
	} while (directive == ZSTD_e_continue ? in.pos < in.size : left > 0);
	return true;
}

static bool begin_line(struct trace_writer *w, struct error *err)
{
	if (w->in_line)
		return true;
	w->in_line = true;
	w->line_start = w->pending.len;
	if (!w->compressed)
		return true;
	if (!w->encoder && !make_encoder(w, err))
		return false;
	if (w->frame_over && !buf_add(&w->pending, SEAL, err))
		return false;
	w->frame_over = false;
	return true;
}

bool trace_add(struct trace_writer *w, struct span part, struct error *err)
{
	if (!begin_line(w, err))
		return false;
	return w->compressed ? compress(w, part, ZSTD_e_continue, err)
			     : buf_add(&w->pending, part, err);
}

void trace_drop_line(struct trace_writer *w)
{
	if (!w->in_line)
		return;
	w->in_line = false;
	w->pending.len = w->line_start;
	if (!w->encoder)
		return;
	ZSTD_CCtx_reset(w->encoder, ZSTD_reset_session_only);
	w->frame_over = w->end || w->pending.len;
}

bool trace_end_line(struct trace_writer *w, struct error *err)
{
	w->kept = w->compressed ? compress(w, SPAN("\n"), ZSTD_e_flush, err)
				: buf_add(&w->pending, SPAN("\n"), err);
	if (!w->kept)
		trace_drop_line(w);
	w->in_line = false;
	return w->kept && trace_flush(w, err);
}

bool trace_append(struct trace_writer *w, struct span line, struct error *err)
{
	if (trace_add(w, line, err))
		return trace_end_line(w, err);
	trace_drop_line(w);
	w->kept = false;
	return false;
}

bool trace_kept(const struct trace_writer *w)
{
	return w->kept;
}

uint64_t trace_last_turn(const struct trace_writer *w)
{
	return w->last_turn;
}

void trace_writer_free(struct trace_writer *w)
{
	if (!w)
		return;
	ZSTD_freeCCtx(w->encoder);
	buf_release(&w->pending);
	if (w->fd >= 0)
		close(w->fd);
	free(w->path);
	free(w);
}

/* The file that the path names now, locked; -1 on failure. */
static int open_locked(const char *path, struct error *err)
{
	for (;;) {
		struct stat ours, named;
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

		if (fd < 0) {
			error_set_errno(err, errno, "open %s", path);
			return -1;
		}
		if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
			error_set(err, ERROR_REFUSED,
				  "%s is in use by another proxy: give each "
				  "proxy a trace file of its own",
				  path);
			close(fd);
			return -1;
		}
		/* A writer that re-encoded the file may just have renamed. */
		if (fstat(fd, &ours) == 0 && stat(path, &named) == 0 &&
		    ours.st_ino == named.st_ino && ours.st_dev == named.st_dev)
			return fd;
		close(fd);
	}
}

static struct trace_writer *writer_new(const char *path, int fd)
{
	struct trace_writer *w = xcalloc(1, sizeof(*w));
	size_t len = strlen(path);

	w->path = xstrdup(path);
	w->fd = fd;
	w->compressed = len >= 4 && !strcmp(path + len - 4, ".zst");
	buf_init(&w->pending, LIMIT_TRACE_RECORD);
	return w;
}

static bool is_record(struct span line)
{
	struct json_value schema;

	return json_find(line, "schema", &schema) &&
	       json_string_is(schema, TURN_SCHEMA);
}

/* All whole records of the old file into the new one. */
/* They are in the order in which they ended. */
static void note_turn(struct trace_writer *w, struct span line)
{
	struct json_value value;
	uint64_t turn;

	if (json_find(line, "turn", &value) && json_to_u64(value, &turn) &&
	    turn > w->last_turn)
		w->last_turn = turn;
}

static bool copy_records(struct trace_reader *from, struct trace_writer *to,
			 struct error *err)
{
	for (;;) {
		struct span line;

		switch (trace_next(from, &line, err)) {
		case TRACE_LINE:
			if (!is_record(line))
				return error_set(
					err, ERROR_REFUSED,
					"%s holds something other than "
					"records of octap: choose another "
					"trace file or remove it",
					to->path);
			if (!trace_append(to, line, err))
				return false;
			to->records_found++;
			note_turn(to, line);
			break;
		case TRACE_TRUNCATED:
			if (!to->records_found)
				return error_set(
					err, ERROR_REFUSED,
					"%s is not a trace of octap: choose "
					"another trace file or remove it",
					to->path);
			return true;
		case TRACE_END:
			return true;
		case TRACE_FAILED:
			return false;
		}
	}
}

/* A compressed file without a record. */
static bool write_empty(struct trace_writer *w, struct error *err)
{
	return write_at(w->fd, EMPTY_FRAME, 0) ||
	       error_set_errno(err, errno, "write %s", w->path);
}

/* Write the old file's records into a fresh file that takes its place. */
static bool rewrite_old(struct trace_writer *w, struct error *err)
{
	char *temporary = xasprintf("%s.new", w->path);
	struct trace_reader *old = trace_open(w->path, err);
	int old_fd = w->fd;
	bool ok = false;

	if (!old)
		goto out;
	/* Left by a crash, or put there: nothing is written through it. */
	unlink(temporary);
	w->fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (w->fd < 0) {
		w->fd = old_fd;
		error_set_errno(err, errno, "open %s", temporary);
		goto out;
	}
	ok = copy_records(old, w, err) &&
	     (w->end || !w->compressed || write_empty(w, err));
	if (ok && (flock(w->fd, LOCK_EX | LOCK_NB) < 0 || fsync(w->fd) < 0 ||
		   rename(temporary, w->path) < 0))
		ok = error_set_errno(err, errno, "replace %s", w->path);
	if (!ok)
		unlink(temporary);
	close(old_fd);
out:
	trace_reader_free(old);
	free(temporary);
	return ok;
}

struct trace_writer *trace_create(const char *path, struct error *err)
{
	int fd = open_locked(path, err);
	struct trace_writer *w;
	struct stat status;

	if (fd < 0)
		return NULL;
	w = writer_new(path, fd);
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
		error_set(err, ERROR_USAGE, "%s is not a regular file", path);
		goto fail;
	}
	if (status.st_size) {
		if (!rewrite_old(w, err))
			goto fail;
	} else if (w->compressed && !write_empty(w, err)) {
		goto fail;
	}
	return w;
fail:
	trace_writer_free(w);
	return NULL;
}
