#include "shared/request_head.h"

#include <strings.h>

/* Those that evhttp reads a body with, when there is one. */
static bool may_have_body(struct span method)
{
	static const char *const methods[] = { "POST", "PUT",    "PATCH",
					       "GET",  "DELETE", "OPTIONS" };

	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (span_is(method, methods[i]))
			return true;
	return false;
}

void request_head_method(struct request_head *h, struct span method)
{
	h->has_body_method = may_have_body(method);
	h->has_method = h->has_body_method || span_is(method, "HEAD");
}

static const char *take_length(struct request_head *h, struct span value)
{
	if (h->lengths++)
		return "two Content-Length headers";
	return span_to_u64(value, &h->length)
		       ? NULL
		       : "a Content-Length that is no number";
}

static const char *take_encoding(struct request_head *h, struct span value)
{
	return h->encodings++ || !span_is_nocase(value, "chunked")
		       ? "a Transfer-Encoding other than chunked"
		       : NULL;
}

const char *request_head_field(struct request_head *h, const char *name,
			       struct span value)
{
	value = span_trim(value);
	if (!strcasecmp(name, "host") && h->hosts++)
		return "two Host headers";
	if (!strcasecmp(name, "content-length"))
		return take_length(h, value);
	if (!strcasecmp(name, "transfer-encoding"))
		return take_encoding(h, value);
	if (!strcasecmp(name, "expect"))
		h->expects |= !span_is_nocase(value, "100-continue");
	return NULL;
}

/* Of RFC 9112; NULL: none. */
static const char *broken_rule(const struct request_head *h)
{
	if (!h->hosts && !h->old)
		return "no Host header";
	if (h->lengths && h->encodings)
		return "Content-Length and Transfer-Encoding";
	if (h->encodings && h->old)
		return "Transfer-Encoding in an old version of HTTP";
	if ((h->length || h->encodings) && !h->has_body_method)
		return "a body with a method that has none";
	return NULL;
}

unsigned request_head_fault(const struct request_head *h, const char **why)
{
	*why = broken_rule(h);
	if (*why)
		return 400;
	if (!h->has_method) {
		*why = "the server does not have its method";
		return 501;
	}
	if (h->expects && !h->old) {
		*why = "it expects more than to continue";
		return 417;
	}
	return 0;
}
