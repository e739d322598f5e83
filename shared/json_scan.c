/*
 * A JSON cursor.  It keeps a position and no stack: who enters a container
 * walks it to its end, so the program's own nesting is the stack.
 */
#include "shared/json_grammar.h"

#include "shared/json_bytes.h"
#include "shared/json_text.h"

void json_open(struct json_cursor *c, struct span source)
{
	/* Places are reckoned from its first byte, which nothing has not. */
	*c = (struct json_cursor){ .source = source.data ? source : SPAN("") };
}

void json_open_indexed(struct json_cursor *c, struct span source,
		       const struct json_index *index)
{
	json_open(c, source);
	if (index && index->count)
		c->part = index->parts;
}

void json_open_value(struct json_cursor *c, struct json_value value)
{
	json_open(c, value.text);
	c->part = value.part;
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

/* The cursor goes to where a function of the grammar stopped. */
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

/* The index has the value that comes next; the cursor is then before it. */
static const struct json_part *indexed_value(struct json_cursor *c)
{
	const struct json_part *part = c->part;

	if (c->failed || part->role != JSON_PART_VALUE)
		return NULL;
	c->pos = (size_t)(part->text.data - c->source.data);
	return part;
}

enum json_type json_peek(struct json_cursor *c)
{
	const struct json_part *part;

	if (!c->part)
		return json_type_of(next_byte(c));
	part = indexed_value(c);
	return part ? part->type : JSON_NONE;
}

/* What the index does not look into is walked by the text. */
static bool enter_indexed(struct json_cursor *c, enum json_type type)
{
	const struct json_part *part = indexed_value(c);

	if (!part || part->type != type)
		return fail(c);
	c->part = part->size > 1 ? part + 1 : NULL;
	if (!c->part) {
		c->resume = part + 1;
		c->below = 1;
	}
	c->pos++;
	c->fresh = true;
	return true;
}

static bool enter(struct json_cursor *c, char bracket)
{
	if (c->part)
		return enter_indexed(c, json_type_of(bracket));
	if (next_byte(c) != bracket)
		return fail(c);
	c->pos++;
	c->fresh = true;
	c->below += c->resume != NULL;
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

static void leave(struct json_cursor *c)
{
	c->pos++;
	if (!c->resume || --c->below)
		return;
	c->part = c->resume;
	c->resume = NULL;
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
		leave(c);
		return false;
	}
	if (first)
		return byte >= 0 || fail(c);
	if (byte != ',')
		return fail(c);
	c->pos++;
	return next_byte(c) >= 0 || fail(c);
}

/* As next_part(): the index knows what is well-formed. */
static bool next_indexed(struct json_cursor *c)
{
	const struct json_part *part = c->part;

	if (c->failed)
		return false;
	c->fresh = false;
	if (part->role != JSON_PART_END)
		return true;
	c->pos = (size_t)(part->text.data + 1 - c->source.data);
	c->part++;
	return false;
}

static bool next_indexed_key(struct json_cursor *c, struct span *key)
{
	if (!next_indexed(c))
		return false;
	if (c->part->role != JSON_PART_KEY)
		return fail(c);
	*key = c->part->text;
	c->part++;
	return true;
}

bool json_next_key(struct json_cursor *c, struct span *key)
{
	const char *start, *quote;

	if (c->part)
		return next_indexed_key(c, key);
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
	return c->part ? next_indexed(c) : next_part(c, ']');
}

static bool read_indexed(struct json_cursor *c, struct json_value *value)
{
	const struct json_part *part = indexed_value(c);

	if (!part)
		return fail(c);
	c->pos += part->text.len;
	c->part += part->size;
	c->fresh = false;
	*value = (struct json_value){
		.type = part->type,
		.text = part->text,
		.part = part,
	};
	return true;
}

bool json_read(struct json_cursor *c, struct json_value *value)
{
	int first_byte;
	const char *start;

	if (c->part)
		return read_indexed(c, value);
	first_byte = next_byte(c);
	start = c->source.data + c->pos;
	if (first_byte < 0 ||
	    !go_to(c, json_scan_value(start, source_end(c), NULL, 0)))
		return fail(c);
	c->fresh = false;
	*value = (struct json_value){
		.type = json_type_of(first_byte),
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

void json_index_make(struct json_index *index, struct span text,
		     unsigned levels)
{
	const char *end, *p;

	index->count = 0;
	if (!text.len)
		return;
	end = text.data + text.len;
	p = json_skip_space(text.data, end);
	if (p < end)
		p = json_scan_value(p, end, index, levels);
	if (!p || json_skip_space(p, end) != end)
		index->count = 0;
	/* Who reads on behind the value finds none. */
	index->parts[index->count] = (struct json_part){
		.text = span_from(end, 0),
		.size = 1,
		.role = JSON_PART_END,
	};
}

bool json_valid(struct span text)
{
	struct json_cursor c;

	json_open(&c, text);
	json_skip(&c);
	return json_close(&c) && utf8_valid(text);
}
