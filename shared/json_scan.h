#ifndef SHARED_JSON_SCAN_H
#define SHARED_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/span.h"

/*
 * JSON read in place: offsets into the source, no tree, no allocation.
 *
 * The bytes of model traffic are never parsed and printed again, because that
 * changes them (numbers beyond a double, "\u0000", lone surrogates, duplicate
 * keys).  A cursor walks the source once; whoever wants a value gets the span
 * of its bytes as they stand.
 *
 *	struct json_cursor c;
 *	struct span key;
 *	struct json_value value;
 *
 *	json_open(&c, source);
 *	json_enter_object(&c);
 *	while (json_next_key(&c, &key))
 *		if (json_key_is(key, "model") && json_read(&c, &value))
 *			...;
 *		else
 *			json_skip(&c);
 *	if (!json_close(&c))
 *		... malformed
 *
 * Exactly one value must be consumed after each json_next_key() and each
 * json_next_item(): by json_read, json_skip, or by entering it and walking it
 * to its end.  The first error is sticky: everything after it returns false,
 * so only json_close() needs to be asked.
 *
 * Accepted is RFC 8259 and nothing more, to LIMIT_JSON_DEPTH levels in a value
 * that is read or skipped.  Whether string bytes are valid UTF-8 is not looked
 * at here (see json_valid).
 */
enum json_type {
	JSON_NONE = 0, /* no value: end of input, or malformed */
	JSON_OBJECT,
	JSON_ARRAY,
	JSON_STRING,
	JSON_NUMBER,
	JSON_TRUE,
	JSON_FALSE,
	JSON_NULL,
};

struct json_value {
	enum json_type type;
	struct span text; /* as in the source; a string with its quotes */
	const struct json_part *part; /* where an index has it, or NULL */
};

#define JSON_VALUE_NONE \
	((struct json_value){ .type = JSON_NONE, .text = { NULL, 0 } })

struct json_cursor {
	struct span source;
	size_t pos;  /* of the next byte to look at */
	bool fresh;  /* a container was entered and nothing read from it yet */
	bool failed; /* sticky */

	/* With an index, see below: */
	const struct json_part *part;   /* the next; NULL: by the text */
	const struct json_part *resume; /* after what is walked by the text */
	unsigned below;                 /* levels of that */
};

void json_open(struct json_cursor *c, struct span source);

/* No error so far, and only white space is left. */
bool json_close(struct json_cursor *c);

/* The kind of the value that comes next, told by its first byte. */
enum json_type json_peek(struct json_cursor *c);

/* Step into the container that comes next; anything else there is an error. */
bool json_enter_object(struct json_cursor *c);
bool json_enter_array(struct json_cursor *c);

/*
 * The next member's key, with its quotes; the cursor is then before the value.
 * False at the end of the object, which is consumed, and on error.
 */
bool json_next_key(struct json_cursor *c, struct span *key);

/* True when an item follows; false at the end, which is consumed. */
bool json_next_item(struct json_cursor *c);

/* Consume one value of any kind, checking all of it. */
bool json_read(struct json_cursor *c, struct json_value *value);
bool json_skip(struct json_cursor *c);

/*
 * The last member of that name, as most parsers have it when a key is given
 * twice.  False when absent, when `object` is no object or is malformed.
 */
bool json_find(struct span object, const char *name, struct json_value *value);

/*
 * Several at once, in one walk: values[i] is the last member named names[i], or
 * JSON_NONE.  False when `object` is no object or is malformed; the values are
 * then all JSON_NONE.
 */
bool json_pick(struct span object, const char *const *names,
	       struct json_value *values, size_t count);

/*
 * The same of the value that comes next, which is consumed; what is no object
 * has no members.  After an error the values may be of no use.
 */
void json_pick_next(struct json_cursor *c, const char *const *names,
		    struct json_value *values, size_t count);

/*
 * For several walks over one text: what its outer levels consist of, found in
 * one reading that checks all of it.  A cursor that is given the index goes
 * from part to part and looks at no byte again; where the index ends it goes
 * by the text.  It holds as long as the text is where and what it was.
 */
#define JSON_PARTS        384
#define JSON_PARTS_LEVELS 6

struct json_part {
	struct span text;
	uint32_t size; /* in parts, with all that is in it; 1: only itself */
	enum {
		JSON_PART_VALUE,
		JSON_PART_KEY, /* its value is the next part */
		JSON_PART_END, /* the closing bracket */
	} role;
	enum json_type type; /* of a value */
};

struct json_index {
	struct json_part parts[JSON_PARTS + 1]; /* by start; then an end */
	size_t count;
};

/*
 * Of the outermost levels of containers, at most JSON_PARTS_LEVELS.  Empty,
 * when the text is not one well-formed value or has more parts.
 */
void json_index_make(struct json_index *index, struct span text,
		     unsigned levels);

/* json_open() on the indexed text; an empty index is as none. */
void json_open_indexed(struct json_cursor *c, struct span source,
		       const struct json_index *index);

/* On a value that was read, with the index of its cursor, if that had one. */
void json_open_value(struct json_cursor *c, struct json_value value);

/*
 * The whole text is one JSON value by RFC 8259, its bytes valid UTF-8.  This
 * is what JSON Lines demands of a record.
 */
bool json_valid(struct span text);

#endif
