/* Reading a trace: zstd or plain, line by line. */
#include "shared/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "shared/buf.h"
#include "shared/limits.h"
#include "shared/mem.h"

#define CHUNK (128u << 10)

struct trace_reader {
	char *path;
	int fd;
	bool compressed;
	bool started;
	bool end_of_file;
	bool in_frame;      /* the frame's last block has not come */
	bool more_output;   /* the decoder may hold more than it gave */
	bool damaged;       /* what follows cannot be decoded */
	ZSTD_DCtx *decoder; /* only when compressed */
	char input[CHUNK];
	size_t input_len, input_pos;
	char output[CHUNK];
	struct buf text; /* decoded, not yet handed out */
	size_t taken;    /* how much of it the last line used up */
	size_t searched; /* of what follows: bytes known to hold no \n */
};

struct trace_reader *trace_open(const char *path, struct error *err)
{
	struct trace_reader *r;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0) {
		error_set_errno(err, errno, "open %s", path);
		return NULL;
	}
	r = xcalloc(1, sizeof(*r));
	r->path = xstrdup(path);
	r->fd = fd;
	buf_init(&r->text, LIMIT_TRACE_RECORD);
	return r;
}

void trace_reader_free(struct trace_reader *r)
{
	if (!r)
		return;
	ZSTD_freeDCtx(r->decoder);
	buf_release(&r->text);
	close(r->fd);
	free(r->path);
	free(r);
}

static bool read_input(struct trace_reader *r, struct error *err)
{
	ssize_t got;

	do
		got = read(r->fd, r->input, sizeof(r->input));
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return error_set_errno(err, errno, "read %s", r->path);
	r->end_of_file = got == 0;
	r->input_len = (size_t)got;
	r->input_pos = 0;
	if (!r->started) {
		r->started = true;
		r->compressed = r->input_len >= 4 &&
				!memcmp(r->input, "\x28\xB5\x2F\xFD", 4);
		if (r->compressed)
			r->decoder = ZSTD_createDCtx();
	}
	return true;
}

static bool decode_input(struct trace_reader *r, struct error *err)
{
	ZSTD_inBuffer in = { r->input, r->input_len, r->input_pos };
	ZSTD_outBuffer out = { r->output, sizeof(r->output), 0 };
	size_t left;

	if (!r->compressed) {
		r->input_pos = r->input_len;
		return buf_add(&r->text, span_from(r->input, r->input_len),
			       err);
	}
	left = ZSTD_decompressStream(r->decoder, &out, &in);
	r->input_pos = in.pos;
	r->more_output = left && out.pos == out.size;
	if (ZSTD_isError(left))
		r->damaged = true;
	else
		r->in_frame = left != 0;
	return buf_add(&r->text, span_from(r->output, out.pos), err);
}

/* Add decoded text to `text`; *ended when there is no more to come. */
static bool fill(struct trace_reader *r, bool *ended, struct error *err)
{
	size_t before = r->text.len;

	*ended = false;
	while (r->text.len == before) {
		if (r->damaged || r->end_of_file) {
			*ended = true;
			return true;
		}
		if (r->input_pos == r->input_len && !r->more_output) {
			if (!read_input(r, err))
				return false;
			continue;
		}
		if (!decode_input(r, err))
			return error_wrap(err, "%s: record", r->path);
	}
	return true;
}

enum trace_read trace_next(struct trace_reader *r, struct span *line,
			   struct error *err)
{
	buf_consume(&r->text, r->taken);
	r->taken = 0;
	for (;;) {
		struct span text = buf_span(&r->text);
		const char *end = memchr(text.data + r->searched, '\n',
					 text.len - r->searched);
		bool ended;

		if (end) {
			r->searched = 0;
			r->taken = (size_t)(end + 1 - text.data);
			*line = span_from(text.data, r->taken - 1);
			return TRACE_LINE;
		}
		r->searched = text.len;
		if (!fill(r, &ended, err))
			return TRACE_FAILED;
		if (ended)
			return r->damaged || r->in_frame || r->text.len
				       ? TRACE_TRUNCATED
				       : TRACE_END;
	}
}
