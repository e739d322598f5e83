/*
 * Appending to a trace.
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
#include "shared/trace_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMPRESSION_LEVEL 1
#define WINDOW_LOG        22 /* 4 MiB: two records and what is between them */

/* A larger buffer is given back after use. */
#define PENDING_KEPT (1u << 20)

static const char seal[] = "\x01\0\0";

/* A frame with no content and the window above, as the encoder begins it. */
static const char empty_frame[] = "\x28\xB5\x2F\xFD\0\x60\x01\0\0";

#define SEAL        span_from(seal, 3)
#define EMPTY_FRAME span_from(empty_frame, 9)

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

bool trace_write_empty(struct trace_writer *w, struct error *err)
{
	return write_at(w->fd, EMPTY_FRAME, 0) ||
	       error_set_errno(err, errno, "write %s", w->path);
}
