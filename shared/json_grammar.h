#ifndef SHARED_JSON_GRAMMAR_H
#define SHARED_JSON_GRAMMAR_H

#include "shared/json_scan.h"

/*
 * Where JSON's values end, by RFC 8259 section 2; for json_scan.c.
 *
 * Each function takes where to begin and where the text ends, and returns where
 * it stopped: past what it read, or NULL when that is not there.
 */
static inline const char *json_skip_space(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
		p++;
	return p;
}

/* A member's name and its colon. */
const char *json_scan_key(const char *p, const char *end);

/*
 * A value, however deep up to LIMIT_JSON_DEPTH.  `marks`, if not NULL, gets its
 * large parts.
 */
const char *json_scan_value(const char *p, const char *end,
			    struct json_marks *marks);

#endif
