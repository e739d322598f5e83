/* Refusals reworded. */
#include "proxy/shield.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "shared/json_write.h"

/* opencode 1.18.33, session/retry.ts, and what is near to it. */
static const char *const retry_words[] = {
	"429",
	"500",
	"502",
	"503",
	"504",
	"524",
	"rate limit",
	"rate_limit",
	"ratelimit",
	"too many",
	"overloaded",
	"unavailable",
	"internal error",
	"internal server",
	"server error",
	"server_error",
	"provider returned",
	"terminated",
	"fetch failed",
	"connection",
	"econn",
	"socket",
	"timeout",
	"timed out",
	"try again",
	"exhausted",
};

/* What servers say of a request that is too long for the model. */
static const char *const context_words[] = {
	"context_length_exceeded", "context length",
	"context window",          "context size",
	"maximum context",         "prompt is too long",
	"input is too long",       "too many tokens",
	"exceed_context_size",
};

static bool contains(struct span text, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i + len <= text.len; i++)
		if (tolower((unsigned char)text.data[i]) == word[0] &&
		    span_is_nocase(span_from(text.data + i, len), word))
			return true;
	return false;
}

static bool contains_any(struct span text, const char *const *words,
			 size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (contains(text, words[i]))
			return true;
	return false;
}

bool shield_is_final(unsigned status)
{
	return status >= 400 && status < 500 && status != 408 &&
	       status != 409 && status != 429;
}

bool shield_is_about_context(struct span body)
{
	return contains_any(body, context_words, ARRAY_LEN(context_words));
}

bool shield_needed(unsigned status, struct span body)
{
	return shield_is_final(status) &&
	       (contains_any(body, retry_words, ARRAY_LEN(retry_words)) ||
		(shield_is_about_context(body) &&
		 !contains(body, "context_length_exceeded")));
}

bool shield_write(struct span body, struct buf *out, struct error *err)
{
	bool context = shield_is_about_context(body);
	struct json_writer jw;

	jw_init(&jw, out);
	jw_object_begin(&jw);
	jw_key(&jw, "error");
	jw_object_begin(&jw);
	jw_key(&jw, "message");
	jw_cstring(&jw, context ? "The conversation is longer than the model's "
				  "context length."
				: "The model server refused the request.");
	jw_key(&jw, "type");
	jw_cstring(&jw, "invalid_request_error");
	jw_key(&jw, "param");
	jw_null(&jw);
	jw_key(&jw, "code");
	jw_cstring(&jw, context ? "context_length_exceeded" : NULL);
	jw_object_end(&jw);
	jw_object_end(&jw);
	return jw_finish(&jw, err);
}

/* RFC 9110 section 5.6.7, the form that is to be written. */
static bool seconds_until(const char *http_date, uint64_t *seconds)
{
	struct tm tm = { 0 };
	const char *end = strptime(http_date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
	time_t now = time(NULL), date;

	if (!end || *end)
		return false;
	date = timegm(&tm);
	*seconds = date > now ? (uint64_t)(date - now) : 0;
	return true;
}

bool shield_retry_after(const char *value, bool in_ms, uint64_t most_s,
			char instead[24])
{
	uint64_t most = in_ms ? most_s * 1000 : most_s, asked;

	if (!span_to_u64(span_of(value), &asked)) {
		if (isdigit((unsigned char)*value))
			asked = UINT64_MAX; /* longer than any number */
		else if (in_ms || !seconds_until(value, &asked))
			return false;
	}
	if (asked <= most)
		return false;
	snprintf(instead, 24, "%" PRIu64, most);
	return true;
}
