/* JSON strings and numbers as text and values. */
#include "shared/json_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REPLACEMENT_CHARACTER 0xFFFDu

struct span json_inside(struct json_value string)
{
	return span_from(string.text.data + 1, string.text.len - 2);
}

size_t utf8_put(char out[4], uint32_t code)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xC0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3F));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xE0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3F));
		out[2] = (char)(0x80 | (code & 0x3F));
		return 3;
	}
	out[0] = (char)(0xF0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3F));
	out[2] = (char)(0x80 | (code >> 6 & 0x3F));
	out[3] = (char)(0x80 | (code & 0x3F));
	return 4;
}

static uint32_t hex4(const char *p)
{
	uint32_t code = 0;

	for (int i = 0; i < 4; i++) {
		uint32_t c = (unsigned char)p[i];

		code = code << 4 | (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
	}
	return code;
}

/* A \uXXXX escape, or two that form a pair, at text[*pos] == 'u'. */
static uint32_t unicode_escape(struct span text, size_t *pos)
{
	uint32_t code = hex4(text.data + *pos + 1);
	uint32_t low;

	*pos += 5;
	if (code < 0xD800 || code > 0xDFFF)
		return code;
	if (code > 0xDBFF || text.len - *pos < 6 ||
	    memcmp(text.data + *pos, "\\u", 2) != 0)
		return REPLACEMENT_CHARACTER;
	low = hex4(text.data + *pos + 2);
	if (low < 0xDC00 || low > 0xDFFF)
		return REPLACEMENT_CHARACTER;
	*pos += 6;
	return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
}

static char simple_escape(char c)
{
	switch (c) {
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	default:
		return c;
	}
}

/*
 * The next character (or run of plain bytes) of a string's inside: at most 4
 * bytes into `out`, or a longer run borrowed from the text.
 */
static struct span next_piece(struct span text, size_t *pos, char out[4])
{
	const char *start = text.data + *pos;
	const char *backslash = memchr(start, '\\', text.len - *pos);
	size_t run = backslash ? (size_t)(backslash - start) : text.len - *pos;

	if (run) {
		*pos += run;
		return span_from(start, run);
	}
	(*pos)++;
	if (text.data[*pos] == 'u')
		return span_from(out, utf8_put(out, unicode_escape(text, pos)));
	out[0] = simple_escape(text.data[(*pos)++]);
	return span_from(out, 1);
}

bool json_unescape(struct json_value string, struct buf *out, struct error *err)
{
	struct span text = json_inside(string);
	char piece[4];

	for (size_t pos = 0; pos < text.len;)
		if (!buf_add(out, next_piece(text, &pos, piece), err))
			return false;
	return true;
}

/* How much of `expected` the string's text begins with; SIZE_MAX: differs. */
static size_t match_prefix(struct span text, struct span expected,
			   bool *exhausted)
{
	size_t matched = 0;
	size_t pos = 0;

	while (pos < text.len && matched < expected.len) {
		char out[4];
		struct span piece = next_piece(text, &pos, out);
		size_t len = expected.len - matched;

		if (piece.len <= len)
			len = piece.len;
		else
			pos = text.len + 1; /* the piece goes on: not used up */
		if (memcmp(piece.data, expected.data + matched, len) != 0)
			return SIZE_MAX;
		matched += len;
	}
	*exhausted = pos == text.len;
	return matched;
}

static bool string_matches(struct span quoted, const char *text, bool whole)
{
	struct span inside = span_from(quoted.data + 1, quoted.len - 2);
	struct span expected = span_of(text);
	bool exhausted = false;
	size_t matched;

	if (!memchr(inside.data, '\\', inside.len))
		return whole ? span_equals(inside, expected)
			     : span_starts_with(inside, text);
	matched = match_prefix(inside, expected, &exhausted);
	return matched == expected.len && (exhausted || !whole);
}

bool json_key_equals(struct span key, const char *name)
{
	size_t len = strlen(name);

	/* An escape is longer than what it stands for. */
	if (key.len - 2 <= len)
		return key.len - 2 == len && !memcmp(key.data + 1, name, len);
	return string_matches(key, name, true);
}

bool json_string_is(struct json_value value, const char *text)
{
	return value.type == JSON_STRING &&
	       string_matches(value.text, text, true);
}

bool json_string_starts_with(struct json_value value, const char *prefix)
{
	return value.type == JSON_STRING &&
	       string_matches(value.text, prefix, false);
}

bool json_to_u64(struct json_value value, uint64_t *number)
{
	return value.type == JSON_NUMBER && span_to_u64(value.text, number);
}

bool json_to_double(struct json_value value, double *number)
{
	char copy[64];

	if (value.type != JSON_NUMBER || value.text.len >= sizeof(copy))
		return false;
	memcpy(copy, value.text.data, value.text.len);
	copy[value.text.len] = '\0';
	*number = strtod(copy, NULL);
	return isfinite(*number);
}

/* How many bytes the character at `p` has; 0 if it is not well formed. */
static size_t utf8_length(const unsigned char *p, size_t len)
{
	unsigned char low = 0x80, high = 0xBF;
	size_t need;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xC2 || p[0] > 0xF4)
		return 0;
	need = p[0] < 0xE0 ? 2 : p[0] < 0xF0 ? 3 : 4;
	if (len < need)
		return 0;
	if (p[0] == 0xE0)
		low = 0xA0;
	else if (p[0] == 0xED)
		high = 0x9F;
	else if (p[0] == 0xF0)
		low = 0x90;
	else if (p[0] == 0xF4)
		high = 0x8F;
	if (p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < need; i++)
		if (p[i] < 0x80 || p[i] > 0xBF)
			return 0;
	return need;
}

/* Fixed in length, so that the compiler makes a few vector instructions. */
#define BLOCK 32

static bool block_is_ascii(const unsigned char *p)
{
	unsigned char all = 0;

	for (size_t i = 0; i < BLOCK; i++)
		all |= p[i];
	return all < 0x80;
}

size_t utf8_prefix(struct span text)
{
	const unsigned char *bytes = (const unsigned char *)text.data;
	size_t pos = 0, len;

	for (; pos < text.len; pos += len) {
		len = BLOCK;
		if (text.len - pos >= BLOCK && block_is_ascii(bytes + pos))
			continue;
		len = utf8_length(bytes + pos, text.len - pos);
		if (!len)
			break;
	}
	return pos;
}

bool utf8_valid(struct span text)
{
	return utf8_prefix(text) == text.len;
}
