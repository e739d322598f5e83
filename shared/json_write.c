/* An append-only JSON writer. */
#include "shared/json_write.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shared/json_text.h"

/* U+FFFD */
#define REPLACEMENT SPAN("\xEF\xBF\xBD")

void jw_init(struct json_writer *jw, struct buf *out)
{
	*jw = (struct json_writer){ .out = out, .err = ERROR_INIT };
}

static void put(struct json_writer *jw, struct span text)
{
	if (!jw->failed)
		jw->failed = !buf_add(jw->out, text, &jw->err);
}

bool jw_finish(struct json_writer *jw, struct error *err)
{
	assert(!jw->depth && !jw->has_key);
	if (jw->failed)
		*err = jw->err;
	return !jw->failed;
}

static bool in_object(const struct json_writer *jw)
{
	return jw->depth && (jw->objects >> (jw->depth - 1) & 1u);
}

static void value_begin(struct json_writer *jw)
{
	assert(in_object(jw) == jw->has_key);
	if (jw->comma && !jw->has_key)
		put(jw, SPAN(","));
	jw->has_key = false;
	jw->comma = true;
}

static void begin(struct json_writer *jw, bool object)
{
	uint64_t bit;

	value_begin(jw);
	assert(jw->depth < JSON_WRITER_DEPTH);
	bit = (uint64_t)1 << jw->depth++;
	jw->objects = object ? jw->objects | bit : jw->objects & ~bit;
	jw->comma = false;
	put(jw, object ? SPAN("{") : SPAN("["));
}

static void end(struct json_writer *jw, bool object)
{
	assert(jw->depth && in_object(jw) == object && !jw->has_key);
	jw->depth--;
	jw->comma = true;
	put(jw, object ? SPAN("}") : SPAN("]"));
}

void jw_object_begin(struct json_writer *jw)
{
	begin(jw, true);
}

void jw_object_end(struct json_writer *jw)
{
	end(jw, true);
}

void jw_array_begin(struct json_writer *jw)
{
	begin(jw, false);
}

void jw_array_end(struct json_writer *jw)
{
	end(jw, false);
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

static void put_escaped(struct json_writer *jw, unsigned char c)
{
	char text[8];

	switch (c) {
	case '"':
		put(jw, SPAN("\\\""));
		return;
	case '\\':
		put(jw, SPAN("\\\\"));
		return;
	case '\n':
		put(jw, SPAN("\\n"));
		return;
	case '\r':
		put(jw, SPAN("\\r"));
		return;
	case '\t':
		put(jw, SPAN("\\t"));
		return;
	default:
		snprintf(text, sizeof(text), "\\u%04x", c);
		put(jw, span_of(text));
	}
}

/* How many bytes the well-formed character at the start has; 0: none. */
static size_t character_length(struct span text)
{
	for (size_t len = 2; len <= 4 && len <= text.len; len++)
		if (utf8_valid(span_from(text.data, len)))
			return len;
	return 0;
}

static void put_string(struct json_writer *jw, struct span text)
{
	put(jw, SPAN("\""));
	while (text.len) {
		unsigned char c = (unsigned char)text.data[0];
		size_t len = 0;

		while (len < text.len &&
		       is_plain((unsigned char)text.data[len]))
			len++;
		if (!len && c >= 0x80)
			len = character_length(text);
		if (len) {
			put(jw, span_from(text.data, len));
		} else {
			len = 1;
			if (c >= 0x80)
				put(jw, REPLACEMENT);
			else
				put_escaped(jw, c);
		}
		text = span_after(text, len);
	}
	put(jw, SPAN("\""));
}

static void key_begin(struct json_writer *jw)
{
	assert(in_object(jw) && !jw->has_key);
	if (jw->comma)
		put(jw, SPAN(","));
	jw->has_key = true;
}

void jw_key(struct json_writer *jw, const char *key)
{
	key_begin(jw);
	put_string(jw, span_of(key));
	put(jw, SPAN(":"));
}

void jw_key_raw(struct json_writer *jw, struct span string)
{
	key_begin(jw);
	put(jw, string);
	put(jw, SPAN(":"));
}

void jw_string(struct json_writer *jw, struct span text)
{
	value_begin(jw);
	put_string(jw, text);
}

void jw_cstring(struct json_writer *jw, const char *text)
{
	if (text)
		jw_string(jw, span_of(text));
	else
		jw_null(jw);
}

void jw_raw(struct json_writer *jw, struct span json)
{
	value_begin(jw);
	put(jw, json.len ? json : SPAN("null"));
}

void jw_wrapped(struct json_writer *jw, const char *open, struct span inside,
		const char *close)
{
	value_begin(jw);
	put(jw, span_of(open));
	put(jw, inside);
	put(jw, span_of(close));
}

static void put_utf8(struct json_writer *jw, struct span text)
{
	for (;;) {
		size_t len = utf8_prefix(text);

		put(jw, span_from(text.data, len));
		if (len == text.len)
			return;
		put(jw, REPLACEMENT);
		text = span_after(text, len + 1);
	}
}

void jw_raw_on_one_line(struct json_writer *jw, struct span json)
{
	if (!json.len) {
		jw_null(jw);
		return;
	}
	value_begin(jw);
	while (json.len) {
		size_t len = span_line_length(json);

		put_utf8(jw, span_from(json.data, len));
		if (len < json.len) {
			put(jw, SPAN(" "));
			len++;
		}
		json = span_after(json, len);
	}
}

void jw_u64(struct json_writer *jw, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	jw_raw(jw, span_of(text));
}

void jw_i64(struct json_writer *jw, int64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, number);
	jw_raw(jw, span_of(text));
}

void jw_bool(struct json_writer *jw, bool value)
{
	jw_raw(jw, value ? SPAN("true") : SPAN("false"));
}

void jw_null(struct json_writer *jw)
{
	jw_raw(jw, SPAN("null"));
}

void jw_seconds(struct json_writer *jw, uint64_t ms)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 ".%03u", ms / 1000,
		 (unsigned)(ms % 1000));
	jw_raw(jw, span_of(text));
}
