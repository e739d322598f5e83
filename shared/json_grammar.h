#ifndef SHARED_JSON_GRAMMAR_H
#define SHARED_JSON_GRAMMAR_H

#include "shared/json_scan.h"

/*
 * Where JSON's values end, by RFC 8259 section 2; for json_scan.c.
 *
 * Each function takes where to begin and where the text ends, and returns where
 * it stopped: past what it read, or NULL when that is not there.
 */

/* A member's name and its colon. */
const char *json_scan_key(const char *p, const char *end);

/* The kind of value that a byte begins. */
enum json_type json_type_of(int first_byte);

/*
 * A value, however deep up to LIMIT_JSON_DEPTH.  `index`, if not NULL, is
 * filled with the parts of its outermost levels; its count is 0 when they have
 * no room.
 */
const char *json_scan_value(const char *p, const char *end,
			    struct json_index *index, unsigned levels);

#endif
