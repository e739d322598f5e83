/*
 * A JSON cursor.  It keeps a position and no stack: who enters a container
 * walks it to its end, so the program's own nesting is the stack.  Only
 * scan_value(), which passes over values nobody asked about, keeps track of
 * nesting, in a fixed bitmap instead of by recursion.
 */
#include "shared/json_scan.h"

#include <stdlib.h>
#include <string.h>

#include "shared/json_text.h"
#include "shared/limits.h"

void json_open(struct json_cursor *c, struct span source)
{
	*c = (struct json_cursor){ .source = source };
}

static bool fail(struct json_cursor *c)
{
	c->failed = true;
	return false;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* The next byte that is not white space; -1 at the end. */
static int next_byte(struct json_cursor *c)
{
	while (c->pos < c->source.len && is_space(c->source.data[c->pos]))
		c->pos++;
	if (c->failed || c->pos == c->source.len)
		return -1;
	return (unsigned char)c->source.data[c->pos];
}

bool json_close(struct json_cursor *c)
{
	int byte = next_byte(c);

	return byte < 0 && !c->failed;
}

enum json_type json_peek(struct json_cursor *c)
{
	switch (next_byte(c)) {
	case '{':
		return JSON_OBJECT;
	case '[':
		return JSON_ARRAY;
	case '"':
		return JSON_STRING;
	case 't':
		return JSON_TRUE;
	case 'f':
		return JSON_FALSE;
	case 'n':
		return JSON_NULL;
	case '-':
	case '0':
	case '1':
	case '2':
	case '3':
	case '4':
	case '5':
	case '6':
	case '7':
	case '8':
	case '9':
		return JSON_NUMBER;
	default:
		return JSON_NONE;
	}
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ||
	       (c >= 'A' && c <= 'F');
}

/* After the backslash: how many bytes the escape has; 0 if it is none. */
static size_t escape_length(const char *p, const char *end)
{
	if (p == end)
		return 0;
	if (*p == 'u') {
		if (end - p < 5)
			return 0;
		for (int i = 1; i <= 4; i++)
			if (!is_hex(p[i]))
				return 0;
		return 5;
	}
	return memchr("\"\\/bfnrt", *p, 8) ? 1 : 0;
}

/* The cursor is at the opening quote. */
static bool scan_string(struct json_cursor *c)
{
	const char *end = c->source.data + c->source.len;
	const char *p = c->source.data + c->pos + 1;

	for (; p < end; p++) {
		size_t len;

		if (*p == '"') {
			c->pos = (size_t)(p + 1 - c->source.data);
			return true;
		}
		if ((unsigned char)*p < 0x20)
			return fail(c);
		if (*p != '\\')
			continue;
		len = escape_length(p + 1, end);
		if (!len)
			return fail(c);
		p += len;
	}
	return fail(c);
}

static bool is_digit(const struct json_cursor *c, size_t pos)
{
	return pos < c->source.len && c->source.data[pos] >= '0' &&
	       c->source.data[pos] <= '9';
}

static bool byte_is(const struct json_cursor *c, size_t pos, const char *set)
{
	return pos < c->source.len && c->source.data[pos] &&
	       strchr(set, c->source.data[pos]);
}

static bool scan_number(struct json_cursor *c)
{
	size_t pos = c->pos;

	if (byte_is(c, pos, "-"))
		pos++;
	if (!is_digit(c, pos))
		return fail(c);
	if (byte_is(c, pos, "0"))
		pos++;
	else
		while (is_digit(c, pos))
			pos++;
	if (byte_is(c, pos, ".")) {
		pos++;
		if (!is_digit(c, pos))
			return fail(c);
		while (is_digit(c, pos))
			pos++;
	}
	if (byte_is(c, pos, "eE")) {
		pos++;
		if (byte_is(c, pos, "+-"))
			pos++;
		if (!is_digit(c, pos))
			return fail(c);
		while (is_digit(c, pos))
			pos++;
	}
	c->pos = pos;
	return true;
}

static bool scan_word(struct json_cursor *c, const char *word)
{
	if (!span_starts_with(span_after(c->source, c->pos), word))
		return fail(c);
	c->pos += strlen(word);
	return true;
}

/* A value without parts, of the kind that json_peek() told. */
static bool scan_scalar(struct json_cursor *c, enum json_type type)
{
	switch (type) {
	case JSON_STRING:
		return scan_string(c);
	case JSON_NUMBER:
		return scan_number(c);
	case JSON_TRUE:
		return scan_word(c, "true");
	case JSON_FALSE:
		return scan_word(c, "false");
	case JSON_NULL:
		return scan_word(c, "null");
	default:
		return fail(c);
	}
}

static bool enter(struct json_cursor *c, char bracket)
{
	if (next_byte(c) != bracket)
		return fail(c);
	c->pos++;
	c->fresh = true;
	return true;
}

bool json_enter_object(struct json_cursor *c)
{
	return enter(c, '{');
}

bool json_enter_array(struct json_cursor *c)
{
	return enter(c, '[');
}

/*
 * Past the comma, if one is due.  False at the closing bracket, which is
 * consumed, and on error.
 */
static bool next_part(struct json_cursor *c, char bracket)
{
	int byte = next_byte(c);
	bool first = c->fresh;

	c->fresh = false;
	if (byte == bracket) {
		c->pos++;
		return false;
	}
	if (first)
		return byte >= 0 || fail(c);
	if (byte != ',')
		return fail(c);
	c->pos++;
	return next_byte(c) >= 0 || fail(c);
}

bool json_next_key(struct json_cursor *c, struct span *key)
{
	size_t start;

	if (!next_part(c, '}'))
		return false;
	start = c->pos;
	if (json_peek(c) != JSON_STRING || !scan_string(c))
		return fail(c);
	*key = span_from(c->source.data + start, c->pos - start);
	if (next_byte(c) != ':')
		return fail(c);
	c->pos++;
	return true;
}

bool json_next_item(struct json_cursor *c)
{
	return next_part(c, ']');
}

/* Which brackets are open: one bit a level, set for an object. */
struct nesting {
	unsigned char objects[LIMIT_JSON_DEPTH / 8];
	unsigned depth;
};

static bool nesting_push(struct nesting *n, bool object)
{
	unsigned char bit = (unsigned char)(1u << (n->depth % 8));

	if (n->depth == LIMIT_JSON_DEPTH)
		return false;
	if (object)
		n->objects[n->depth / 8] |= bit;
	else
		n->objects[n->depth / 8] &= (unsigned char)~bit;
	n->depth++;
	return true;
}

static bool nesting_in_object(const struct nesting *n)
{
	unsigned top = n->depth - 1;

	return n->objects[top / 8] >> (top % 8) & 1u;
}

/* From inside a value: on to where the next value starts, or to the end. */
static bool scan_to_next_value(struct json_cursor *c, struct nesting *n)
{
	struct span key;

	while (n->depth && !c->failed) {
		bool more = nesting_in_object(n) ? json_next_key(c, &key)
						 : json_next_item(c);

		if (more)
			return true;
		n->depth--;
	}
	return false;
}

static bool scan_value(struct json_cursor *c)
{
	struct nesting n;

	n.depth = 0;
	do {
		enum json_type type = json_peek(c);

		if (type != JSON_OBJECT && type != JSON_ARRAY) {
			if (!scan_scalar(c, type))
				return false;
			continue;
		}
		if (!nesting_push(&n, type == JSON_OBJECT))
			return fail(c);
		c->pos++;
		c->fresh = true;
	} while (scan_to_next_value(c, &n));
	return !c->failed;
}

bool json_read(struct json_cursor *c, struct json_value *value)
{
	enum json_type type = json_peek(c);
	size_t start = c->pos;

	if (c->failed || !scan_value(c))
		return fail(c);
	c->fresh = false;
	*value = (struct json_value){
		.type = type,
		.text = span_from(c->source.data + start, c->pos - start),
	};
	return true;
}

bool json_skip(struct json_cursor *c)
{
	struct json_value value;

	return json_read(c, &value);
}

static size_t index_of_key(const char *const *names, size_t count,
			   struct span key)
{
	size_t i = 0;

	while (i < count && !json_key_is(key, names[i]))
		i++;
	return i;
}

bool json_pick(struct span object, const char *const *names,
	       struct json_value *values, size_t count)
{
	struct json_cursor c;
	struct span key;

	for (size_t i = 0; i < count; i++)
		values[i] = JSON_VALUE_NONE;
	json_open(&c, object);
	json_enter_object(&c);
	while (json_next_key(&c, &key)) {
		size_t i = index_of_key(names, count, key);

		if (i < count)
			json_read(&c, &values[i]);
		else
			json_skip(&c);
	}
	if (json_close(&c))
		return true;
	for (size_t i = 0; i < count; i++)
		values[i] = JSON_VALUE_NONE;
	return false;
}

bool json_find(struct span object, const char *name, struct json_value *value)
{
	struct json_value found;

	if (!json_pick(object, &name, &found, 1) || found.type == JSON_NONE)
		return false;
	*value = found;
	return true;
}

bool json_valid(struct span text)
{
	struct json_cursor c;

	json_open(&c, text);
	json_skip(&c);
	return json_close(&c) && utf8_valid(text);
}
