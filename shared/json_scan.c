/*
 * A JSON cursor.  It keeps a position and no stack: who enters a container
 * walks it to its end, so the program's own nesting is the stack.  Only
 * scan_value(), which passes over values nobody asked about, keeps track of
 * nesting, in a fixed bitmap instead of by recursion.
 */
#include "shared/json_scan.h"

#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "shared/json_text.h"
#include "shared/limits.h"

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

/*
 * The functions below take where to begin and where the source ends, and return
 * where they stopped: past a value, or NULL when it is none.
 */
static const char *skip_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
		p++;
	return p;
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

/* Eight bytes as a number, the first as its lowest. */
static uint64_t load8(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;

	return (uint64_t)u[0] | (uint64_t)u[1] << 8 | (uint64_t)u[2] << 16 |
	       (uint64_t)u[3] << 24 | (uint64_t)u[4] << 32 |
	       (uint64_t)u[5] << 40 | (uint64_t)u[6] << 48 |
	       (uint64_t)u[7] << 56;
}

#define EACH(byte) (0x0101010101010101u * (byte))

/* The lowest mark is right, and that is all we ask for. */
static uint64_t mark_others_than_digits(uint64_t bytes)
{
	bytes ^= EACH('0');
	return ((bytes + EACH(0x80 - 10)) | bytes) & EACH(0x80);
}

static size_t first_marked(uint64_t marks)
{
	return (size_t)__builtin_ctzll(marks) / 8;
}

#ifdef __SSE2__

#define BLOCK 16

/* How many plain bytes come first; BLOCK: all are. */
static size_t plain_prefix(const char *p)
{
	__m128i bytes = _mm_loadu_si128((const __m128i *)p);
	__m128i special = _mm_or_si128(
		_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
			     _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))),
		_mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)),
			       bytes));

	return (size_t)__builtin_ctz((unsigned)_mm_movemask_epi8(special) |
				     1u << BLOCK);
}

#else

#define BLOCK 8

/*
 * Of eight bytes, the high bits of those that are zero; of the bytes that
 * follow a zero any.  So the lowest bit is right, and that is all we ask for.
 */
static uint64_t mark_zeros(uint64_t bytes)
{
	return (bytes - EACH(0x01)) & ~bytes & EACH(0x80);
}

static size_t plain_prefix(const char *p)
{
	uint64_t bytes = load8(p);
	uint64_t special = mark_zeros(bytes ^ EACH('"')) |
			   mark_zeros(bytes ^ EACH('\\')) |
			   ((bytes - EACH(0x20)) & ~bytes & EACH(0x80));

	return special ? first_marked(special) : BLOCK;
}

#endif

/* To the first quote, backslash or control byte, or the end. */
static const char *skip_plain(const char *p, const char *end)
{
	while (end - p >= BLOCK) {
		size_t len = plain_prefix(p);

		p += len;
		if (len < BLOCK)
			return p;
	}
	while (p < end && (unsigned char)*p >= 0x20 && *p != '"' && *p != '\\')
		p++;
	return p;
}

/* `p` is at the opening quote. */
static const char *scan_string(const char *p, const char *end)
{
	for (p++;; p++) {
		size_t len;

		p = skip_plain(p, end);
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

/* Most numbers are short, log-probabilities long. */
static const char *skip_digits(const char *p, const char *end)
{
	for (int i = 0; i < 4; i++, p++)
		if (p == end || *p < '0' || *p > '9')
			return p;
	for (; end - p >= 8; p += 8) {
		uint64_t marks = mark_others_than_digits(load8(p));

		if (marks)
			return p + first_marked(marks);
	}
	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p;
}

static const char *scan_digits(const char *p, const char *end)
{
	const char *start = p;

	p = skip_digits(p, end);
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

/* A key and its colon. */
static const char *scan_key(const char *p, const char *end)
{
	if (p == end || *p != '"')
		return NULL;
	p = scan_string(p, end);
	if (!p)
		return NULL;
	p = skip_space(p, end);
	return p < end && *p == ':' ? p + 1 : NULL;
}

/* A smaller object or array is as quickly read again. */
#define MARKED_LENGTH 96

/* Which brackets are open: one bit a level, set for an object. */
struct nesting {
	unsigned char objects[LIMIT_JSON_DEPTH / 8];
	unsigned depth;
	struct json_marks *marks; /* to be filled; or NULL */
	size_t mark[JSON_MARKS];  /* that of each level, as far as it goes */
};

/* A mark is made when the value opens, so that they are in order. */
static void open_mark(struct nesting *n, const char *p)
{
	struct json_marks *marks = n->marks;

	if (n->depth >= JSON_MARKS)
		return;
	n->mark[n->depth] = JSON_MARKS;
	if (marks->count == JSON_MARKS)
		return;
	n->mark[n->depth] = marks->count;
	marks->items[marks->count++] = span_from(p, 0);
}

static void close_mark(struct nesting *n, const char *end)
{
	struct json_marks *marks = n->marks;
	struct span *item;

	if (n->depth >= JSON_MARKS || n->mark[n->depth] == JSON_MARKS)
		return;
	item = &marks->items[n->mark[n->depth]];
	item->len = (size_t)(end - item->data);
	/* Those inside it are smaller still, and gone. */
	if (item->len < MARKED_LENGTH)
		marks->count--;
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
	return true;
}

static bool nesting_in_object(const struct nesting *n)
{
	unsigned top = n->depth - 1;

	return n->objects[top / 8] >> (top % 8) & 1u;
}

/*
 * After a value: over closing brackets and a comma, to what comes next, and
 * over the key if that has one.
 */
static const char *scan_to_next_value(const char *p, const char *end,
				      struct nesting *n)
{
	while (n->depth) {
		bool in_object = nesting_in_object(n);

		p = skip_space(p, end);
		if (p == end)
			return NULL;
		if (*p == ',') {
			p = skip_space(p + 1, end);
			if (!in_object)
				return p;
			p = scan_key(p, end);
			return p ? skip_space(p, end) : NULL;
		}
		if (*p++ != (in_object ? '}' : ']'))
			return NULL;
		n->depth--;
		if (n->marks)
			close_mark(n, p);
	}
	return p;
}

/* At an opening bracket: to the first value in it, or to the bracket's pair. */
static const char *scan_opening(const char *p, const char *end,
				struct nesting *n)
{
	bool object = *p == '{';

	if (n->marks)
		open_mark(n, p);
	if (!nesting_push(n, object))
		return NULL;
	p = skip_space(p + 1, end);
	if (p < end && (*p == '}' || *p == ']'))
		return scan_to_next_value(p, end, n);
	if (!object)
		return p;
	p = scan_key(p, end);
	return p ? skip_space(p, end) : NULL;
}

static const char *scan_value(const char *p, const char *end,
			      struct json_marks *marks)
{
	struct nesting n;

	n.depth = 0;
	n.marks = marks;
	do {
		if (p == end)
			return NULL;
		if (*p == '{' || *p == '[') {
			p = scan_opening(p, end, &n);
			continue;
		}
		p = scan_scalar(p, end);
		if (p)
			p = scan_to_next_value(p, end, &n);
	} while (p && n.depth);
	return p;
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
	const char *p = skip_space(c->source.data + c->pos, end);

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
	if (!go_to(c, scan_key(start, source_end(c))))
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
	return end ? end : scan_value(p, source_end(c), NULL);
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
	const char *p = skip_space(text.data, end);

	marks->count = 0;
	if (p < end)
		p = scan_value(p, end, marks);
	if (!p || skip_space(p, end) != end)
		marks->count = 0;
}

bool json_valid(struct span text)
{
	struct json_cursor c;

	json_open(&c, text);
	json_skip(&c);
	return json_close(&c) && utf8_valid(text);
}
