/*
 * The grammar, from byte to byte.  json_scan_value() keeps track of nesting in
 * a fixed bitmap instead of by recursion.
 */
#include "shared/json_grammar.h"

#include <string.h>

#include "shared/json_bytes.h"
#include "shared/limits.h"

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

/* `p` is at the opening quote. */
static const char *scan_string(const char *p, const char *end)
{
	for (p++;; p++) {
		size_t len;

		p = json_skip_plain(p, end);
		if (p == end)
			return NULL;
		if (*p == '"')
			return p + 1;
		if (*p != '\\')
			return NULL;
		len = escape_length(p + 1, end);
		if (!len)
			return NULL;
		p += len;
	}
}

static const char *scan_digits(const char *p, const char *end)
{
	const char *start = p;

	p = json_skip_digits(p, end);
	return p > start ? p : NULL;
}

static const char *scan_number(const char *p, const char *end)
{
	if (p < end && *p == '-')
		p++;
	if (p < end && *p == '0')
		p++;
	else
		p = scan_digits(p, end);
	if (p && p < end && *p == '.')
		p = scan_digits(p + 1, end);
	if (p && p < end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		p = scan_digits(p, end);
	}
	return p;
}

/* After a number in an array: over all that follow at once. */
static const char *scan_more_numbers(const char *p, const char *end)
{
	while (p && p < end && *p == ',' && json_is_digit(p + 1, end))
		p = scan_number(p + 1, end);
	return p;
}

static const char *scan_word(const char *p, const char *end, struct span word)
{
	if ((size_t)(end - p) < word.len || memcmp(p, word.data, word.len) != 0)
		return NULL;
	return p + word.len;
}

/* A value without parts. */
static const char *scan_scalar(const char *p, const char *end)
{
	switch (*p) {
	case '"':
		return scan_string(p, end);
	case 't':
		return scan_word(p, end, SPAN("true"));
	case 'f':
		return scan_word(p, end, SPAN("false"));
	case 'n':
		return scan_word(p, end, SPAN("null"));
	default:
		return scan_number(p, end);
	}
}

const char *json_scan_key(const char *p, const char *end)
{
	if (p == end || *p != '"')
		return NULL;
	p = scan_string(p, end);
	if (!p)
		return NULL;
	p = json_skip_space(p, end);
	return p < end && *p == ':' ? p + 1 : NULL;
}

enum json_type json_type_of(int first_byte)
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

/*
 * Which brackets are open: one bit a level, set for an object.  Values that
 * have at most `indexed` levels around them become parts of the index; `open`
 * are those whose end is still to come.
 */
struct nesting {
	unsigned char objects[LIMIT_JSON_DEPTH / 8];
	int depth;
	bool in_object; /* the innermost */
	struct json_index *index;
	int indexed; /* -1: none */
	uint32_t open[JSON_PARTS_LEVELS + 1];
};

/* Where there is no room for all parts there is no index. */
static void add_part(struct nesting *n, const char *p, size_t len, int role,
		     enum json_type type)
{
	struct json_index *index = n->index;

	if (index->count == JSON_PARTS) {
		index->count = 0;
		n->indexed = -1;
		return;
	}
	index->parts[index->count++] = (struct json_part){
		.text = { p, len },
		.size = 1,
		.role = role,
		.type = type,
	};
}

static void begin_container(struct nesting *n, const char *p)
{
	if (n->depth > n->indexed)
		return;
	n->open[n->depth] = (uint32_t)n->index->count;
	add_part(n, p, 0, JSON_PART_VALUE,
		 *p == '{' ? JSON_OBJECT : JSON_ARRAY);
}

static void end_container(struct nesting *n, const char *end)
{
	struct json_part *part;

	if (n->depth < n->indexed)
		add_part(n, end - 1, 1, JSON_PART_END, JSON_NONE);
	if (n->depth > n->indexed)
		return;
	part = &n->index->parts[n->open[n->depth]];
	part->text.len = (size_t)(end - part->text.data);
	part->size = (uint32_t)n->index->count - n->open[n->depth];
}

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
	n->in_object = object;
	return true;
}

static void nesting_pop(struct nesting *n)
{
	int top = --n->depth - 1;

	n->in_object = top >= 0 && (n->objects[top / 8] >> (top % 8) & 1u);
}

/* To the value that a member has. */
static const char *scan_to_member(const char *p, const char *end,
				  struct nesting *n)
{
	const char *after, *name_end;

	if (p == end || *p != '"')
		return NULL;
	name_end = scan_string(p, end);
	if (!name_end)
		return NULL;
	after = json_skip_space(name_end, end);
	if (after == end || *after != ':')
		return NULL;
	if (n->depth <= n->indexed)
		add_part(n, p, (size_t)(name_end - p), JSON_PART_KEY,
			 JSON_NONE);
	return json_skip_space(after + 1, end);
}

/*
 * After a value: over closing brackets and a comma, to what comes next, and
 * over the key if that has one.
 */
static const char *scan_to_next_value(const char *p, const char *end,
				      struct nesting *n)
{
	while (n->depth) {
		p = json_skip_space(p, end);
		if (p == end)
			return NULL;
		if (*p == ',') {
			p = json_skip_space(p + 1, end);
			return n->in_object ? scan_to_member(p, end, n) : p;
		}
		if (*p++ != (n->in_object ? '}' : ']'))
			return NULL;
		nesting_pop(n);
		end_container(n, p);
	}
	return p;
}

/* At an opening bracket: to the first value in it, or to the bracket's pair. */
static const char *scan_opening(const char *p, const char *end,
				struct nesting *n)
{
	bool object = *p == '{';

	begin_container(n, p);
	if (!nesting_push(n, object))
		return NULL;
	p = json_skip_space(p + 1, end);
	if (p < end && (*p == '}' || *p == ']'))
		return scan_to_next_value(p, end, n);
	return object ? scan_to_member(p, end, n) : p;
}

const char *json_scan_value(const char *p, const char *end,
			    struct json_index *index, unsigned levels)
{
	struct nesting n;

	n.depth = 0;
	n.in_object = false;
	n.index = index;
	n.indexed = index ? (int)levels : -1;
	do {
		const char *start = p;

		if (p == end)
			return NULL;
		if (*p == '{' || *p == '[') {
			p = scan_opening(p, end, &n);
			continue;
		}
		p = scan_scalar(p, end);
		if (!p)
			return NULL;
		if (n.depth <= n.indexed)
			add_part(&n, start, (size_t)(p - start),
				 JSON_PART_VALUE,
				 json_type_of((unsigned char)*start));
		else if (n.depth && !n.in_object)
			p = scan_more_numbers(p, end);
		p = p ? scan_to_next_value(p, end, &n) : NULL;
	} while (p && n.depth);
	return p;
}
