/* struct span: small questions about borrowed bytes. */
#include "shared/span.h"

#include <string.h>
#include <strings.h>

struct span span_of(const char *text)
{
	return (struct span){ .data = text, .len = text ? strlen(text) : 0 };
}

struct span span_from(const char *data, size_t len)
{
	return (struct span){ .data = data, .len = len };
}

struct span span_after(struct span span, size_t start)
{
	return span_from(span.data + start, span.len - start);
}

bool span_equals(struct span a, struct span b)
{
	return a.len == b.len && (!a.len || !memcmp(a.data, b.data, a.len));
}

bool span_is(struct span span, const char *text)
{
	return span_equals(span, span_of(text));
}

bool span_is_nocase(struct span span, const char *text)
{
	return span.len == strlen(text) &&
	       !strncasecmp(span.data ? span.data : "", text, span.len);
}

bool span_starts_with(struct span span, const char *prefix)
{
	size_t len = strlen(prefix);

	return span.len >= len && (!len || !memcmp(span.data, prefix, len));
}

bool span_ends_with(struct span span, const char *suffix)
{
	size_t len = strlen(suffix);

	return span.len >= len &&
	       span_is(span_after(span, span.len - len), suffix);
}

bool span_contains(struct span span, const char *needle)
{
	return span.len && memmem(span.data, span.len, needle, strlen(needle));
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct span span_trim(struct span span)
{
	while (span.len && is_blank(span.data[0]))
		span = span_after(span, 1);
	while (span.len && is_blank(span.data[span.len - 1]))
		span.len--;
	return span;
}

size_t span_line_length(struct span span)
{
	const char *end;

	if (!span.len)
		return 0;
	end = memchr(span.data, '\n', span.len);
	if (end)
		span.len = (size_t)(end - span.data);
	end = memchr(span.data, '\r', span.len);
	return end ? (size_t)(end - span.data) : span.len;
}

bool span_to_u64(struct span span, uint64_t *value)
{
	uint64_t sum = 0;

	if (!span.len)
		return false;
	for (size_t i = 0; i < span.len; i++) {
		unsigned digit = (unsigned char)span.data[i] - (unsigned)'0';

		if (digit > 9 || sum > (UINT64_MAX - digit) / 10)
			return false;
		sum = sum * 10 + digit;
	}
	*value = sum;
	return true;
}
