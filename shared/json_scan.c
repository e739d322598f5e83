/*
 * A JSON cursor.  It keeps a position and no stack: who enters a container
 * walks it to its end, so the program's own nesting is the stack.
 */
#include "shared/json_grammar.h"

#include <stdlib.h>
#include <string.h>

#include "shared/json_text.h"

void json_open(struct json_cursor *c, struct span source)
{
	json_open_marked(c, source, NULL);
}

void json_open_marked(struct json_cursor *c, struct span source,
		      const struct json_marks *marks)
{
	/* Places are reckoned from its first byte, which nothing has not. */
	*c = (struct json_cursor){ .source = source.data ? source : SPAN(""),
				   .marks = marks };
}

static bool fail(struct json_cursor *c)
{
	c->failed = true;
	return false;
}

static const char *source_end(const struct json_cursor *c)
{
	return c->source.data + c->source.len;
}

/* The cursor goes to where one of the functions above stopped. */
static bool go_to(struct json_cursor *c, const char *p)
{
	if (!p)
		return fail(c);
	c->pos = (size_t)(p - c->source.data);
	return true;
}

/* The next byte that is not white space; -1 at the end. */
static int next_byte(struct json_cursor *c)
{
	const char *end = source_end(c);
	const char *p = json_skip_space(c->source.data + c->pos, end);

	c->pos = (size_t)(p - c->source.data);
	return c->failed || p == end ? -1 : (unsigned char)*p;
}

bool json_close(struct json_cursor *c)
{
	int byte = next_byte(c);

	return byte < 0 && !c->failed;
}

static enum json_type type_of(int first_byte)
{
	switch (first_byte) {
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

enum json_type json_peek(struct json_cursor *c)
{
	return type_of(next_byte(c));
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
	const char *start, *quote;

	if (!next_part(c, '}'))
		return false;
	start = c->source.data + c->pos;
	if (!go_to(c, json_scan_key(start, source_end(c))))
		return false;
	/* Back over the colon and what is before it. */
	quote = c->source.data + c->pos - 1;
	while (*quote != '"')
		quote--;
	*key = span_from(start, (size_t)(quote + 1 - start));
	return true;
}

bool json_next_item(struct json_cursor *c)
{
	return next_part(c, ']');
}

/* The end of a value that is known to be well-formed; NULL: it is not known. */
static const char *marked_end(const struct json_marks *marks, const char *p)
{
	for (size_t i = 0; i < marks->count; i++)
		if (marks->items[i].data == p)
			return p + marks->items[i].len;
	return NULL;
}

static const char *value_end(const struct json_cursor *c, const char *p)
{
	const char *end = NULL;

	if (c->marks && (*p == '{' || *p == '['))
		end = marked_end(c->marks, p);
	return end ? end : json_scan_value(p, source_end(c), NULL);
}

bool json_read(struct json_cursor *c, struct json_value *value)
{
	int first_byte = next_byte(c);
	const char *start = c->source.data + c->pos;

	if (first_byte < 0 || !go_to(c, value_end(c, start)))
		return fail(c);
	c->fresh = false;
	*value = (struct json_value){
		.type = type_of(first_byte),
		.text = span_from(start,
				  c->pos - (size_t)(start - c->source.data)),
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

void json_pick_next(struct json_cursor *c, const char *const *names,
		    struct json_value *values, size_t count)
{
	struct span key;

	for (size_t i = 0; i < count; i++)
		values[i] = JSON_VALUE_NONE;
	if (json_peek(c) != JSON_OBJECT) {
		json_skip(c);
		return;
	}
	json_enter_object(c);
	while (json_next_key(c, &key)) {
		size_t i = index_of_key(names, count, key);

		if (i < count)
			json_read(c, &values[i]);
		else
			json_skip(c);
	}
}

bool json_pick(struct span object, const char *const *names,
	       struct json_value *values, size_t count)
{
	struct json_cursor c;

	json_open(&c, object);
	if (json_peek(&c) != JSON_OBJECT)
		fail(&c);
	json_pick_next(&c, names, values, count);
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

void json_mark(struct json_marks *marks, struct span text)
{
	const char *end = text.data + text.len;
	const char *p = json_skip_space(text.data, end);

	marks->count = 0;
	if (p < end)
		p = json_scan_value(p, end, marks);
	if (!p || json_skip_space(p, end) != end)
		marks->count = 0;
}

bool json_valid(struct span text)
{
	struct json_cursor c;

	json_open(&c, text);
	json_skip(&c);
	return json_close(&c) && utf8_valid(text);
}
