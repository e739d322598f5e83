#ifndef SHARED_SPAN_H
#define SHARED_SPAN_H

#include <stdint.h>

#include "shared/compiler.h"

/*
 * Borrowed bytes: a pointer and a length, never NUL-terminated, valid only as
 * long as the owner says.  An absent span has `data` NULL; an empty one need
 * not.
 */
struct span {
	const char *data;
	size_t len;
};

#define SPAN_NONE ((struct span){ .data = NULL, .len = 0 })

/* A string literal, without its NUL. */
#define SPAN(literal) \
	((struct span){ .data = (literal), .len = sizeof(literal) - 1 })

struct span span_of(const char *text); /* NULL gives SPAN_NONE */
struct span span_from(const char *data, size_t len);

/* From `start` to the end; `start` may equal the length. */
struct span span_after(struct span span, size_t start);

bool span_equals(struct span a, struct span b);
bool span_is(struct span span, const char *text);
bool span_is_nocase(struct span span, const char *text); /* ASCII */
bool span_starts_with(struct span span, const char *prefix);
bool span_ends_with(struct span span, const char *suffix);
bool span_contains(struct span span, const char *needle);

/* Without the spaces, tabs and line breaks at both ends. */
struct span span_trim(struct span span);

/* How many bytes come before the first CR or LF, or the end. */
size_t span_line_length(struct span span);

/* The whole span is an unsigned decimal number that fits. */
bool span_to_u64(struct span span, uint64_t *value);

#endif
