#ifndef SHARED_JSON_TEXT_H
#define SHARED_JSON_TEXT_H

#include <stdint.h>

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/json_scan.h"
#include "shared/span.h"

/*
 * What the strings and numbers say that json_scan finds: their text with the
 * escapes undone, their value.  Only for looking; what is passed on or recorded
 * is copied as it stands.
 */

/* The bytes between the quotes, escapes as they stand. */
struct span json_inside(struct json_value string);

/*
 * Add the string's text as UTF-8 to `out`, escapes undone.  A lone surrogate,
 * which UTF-8 cannot say, becomes U+FFFD.
 */
bool json_unescape(struct json_value string, struct buf *out,
		   struct error *err) MUST_USE;

/*
 * Is this key (with its quotes), escapes undone, that name?  Most are told
 * apart by their first byte.
 */
bool json_key_equals(struct span key, const char *name);

static inline bool json_key_is(struct span key, const char *name)
{
	return (key.data[1] == name[0] || key.data[1] == '\\' || !name[0]) &&
	       json_key_equals(key, name);
}

/* Is this a string whose text, escapes undone, equals / begins with that? */
bool json_string_is(struct json_value value, const char *text);
bool json_string_starts_with(struct json_value value, const char *prefix);

/* A number without fraction or exponent that fits. */
bool json_to_u64(struct json_value value, uint64_t *number);

/* Any number, rounded to a double: for comparing, never for passing on. */
bool json_to_double(struct json_value value, double *number);

/* Well-formed UTF-8 by RFC 3629: no overlong forms, no surrogates. */
bool utf8_valid(struct span text);

/* How many bytes at the beginning are well-formed UTF-8. */
size_t utf8_prefix(struct span text);

/* Write `code` as UTF-8, 1 to 4 bytes; returns how many. */
size_t utf8_put(char out[4], uint32_t code);

#endif
