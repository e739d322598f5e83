/* struct buf: a growable byte buffer that knows how large it may become. */
#include "shared/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/mem.h"

void buf_init(struct buf *buf, size_t limit)
{
	*buf = (struct buf){ .limit = limit };
}

void buf_release(struct buf *buf)
{
	free(buf->data);
	buf->data = NULL;
	buf->len = buf->alloc = 0;
}

void buf_clear(struct buf *buf)
{
	buf->len = 0;
	if (buf->data)
		buf->data[0] = '\0';
}

bool buf_reserve(struct buf *buf, size_t len, struct error *err)
{
	size_t alloc = buf->alloc ? buf->alloc : 64;

	assert(buf->limit);
	if (len >= buf->limit - buf->len)
		return error_set(err, ERROR_TOO_LARGE,
				 "more than the limit of %zu bytes",
				 buf->limit - 1);
	if (buf->len + len + 1 <= buf->alloc)
		return true;
	while (alloc < buf->len + len + 1)
		alloc = alloc > buf->limit / 2 ? buf->limit : alloc * 2;
	buf->data = xrealloc_array(buf->data, alloc, 1);
	buf->alloc = alloc;
	return true;
}

bool buf_add(struct buf *buf, struct span bytes, struct error *err)
{
	if (!buf_reserve(buf, bytes.len, err))
		return false;
	if (bytes.len)
		memcpy(buf->data + buf->len, bytes.data, bytes.len);
	buf->len += bytes.len;
	buf->data[buf->len] = '\0';
	return true;
}

bool buf_addf(struct buf *buf, struct error *err, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len < 0)
		return error_set(err, ERROR_MALFORMED, "cannot format text");
	if (!buf_reserve(buf, (size_t)len, err))
		return false;
	va_start(args, fmt);
	vsnprintf(buf->data + buf->len, (size_t)len + 1, fmt, args);
	va_end(args);
	buf->len += (size_t)len;
	return true;
}

void buf_consume(struct buf *buf, size_t len)
{
	assert(len <= buf->len);
	if (!len)
		return;
	memmove(buf->data, buf->data + len, buf->len - len);
	buf->len -= len;
	buf->data[buf->len] = '\0';
}

struct span buf_span(const struct buf *buf)
{
	return span_from(buf->data ? buf->data : "", buf->len);
}

char *buf_detach(struct buf *buf, size_t *len)
{
	char *data = buf->data ? buf->data : xstrdup("");

	if (len)
		*len = buf->len;
	buf->data = NULL;
	buf->len = buf->alloc = 0;
	return data;
}
