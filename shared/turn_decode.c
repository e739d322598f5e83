/* Reading the trace record, by tables of its members. */
#include "shared/turn.h"

#include <stddef.h>
#include <string.h>

#include "shared/json_scan.h"
#include "shared/json_text.h"

#define SECONDS_MAX 1000000000000u

/* How a member's value is kept. */
enum member_form {
	FORM_JSON, /* span of the value; null leaves the span empty */
	FORM_TEXT, /* span between the quotes; our own texts have no escapes */
	FORM_NUMBER,
	FORM_UNSIGNED,
	FORM_SECONDS, /* microseconds in the struct */
	FORM_BOOL,
};

struct member {
	const char *name;
	enum member_form form;
	size_t offset;
};

#define MEMBER(name, form, field)                        \
	{                                                \
		name, form, offsetof(struct turn, field) \
	}

static const struct member members[] = {
	MEMBER("turn", FORM_NUMBER, number),
	MEMBER("rollout_id", FORM_TEXT, rollout_id),
	MEMBER("session_id", FORM_TEXT, session_id),
	MEMBER("parent_session_id", FORM_TEXT, parent_session_id),
	MEMBER("attempt", FORM_NUMBER, attempt),
	MEMBER("supersedes", FORM_NUMBER, supersedes),
	MEMBER("request", FORM_JSON, request),
	MEMBER("response", FORM_JSON, response),
	MEMBER("finish_reason", FORM_JSON, finish_reason),
	MEMBER("logprobs", FORM_JSON, logprobs),
	MEMBER("completion_tokens", FORM_JSON, completion_tokens),
	MEMBER("completion_token_ids", FORM_JSON, completion_token_ids),
	MEMBER("per_token_logps", FORM_JSON, per_token_logps),
	MEMBER("prompt_token_ids", FORM_JSON, prompt_token_ids),
	MEMBER("chunk_tokens", FORM_JSON, chunk_tokens),
	MEMBER("chunk_ms", FORM_JSON, chunk_ms),
	MEMBER("logprobs_mode", FORM_TEXT, logprobs_mode),
	MEMBER("prefix_of", FORM_NUMBER, prefix_of),
	MEMBER("usage", FORM_JSON, usage),
	MEMBER("sampling", FORM_JSON, sampling),
	MEMBER("timestamp", FORM_SECONDS, timestamp_us),
	MEMBER("latency_s", FORM_SECONDS, latency_us),
	MEMBER("ttft_s", FORM_SECONDS, ttft_us),
	MEMBER("complete", FORM_BOOL, complete),
	MEMBER("delivered", FORM_BOOL, delivered),
	MEMBER("abort_reason", FORM_TEXT, abort_reason),
};

static const struct member upstream_members[] = {
	MEMBER("status", FORM_UNSIGNED, upstream_status),
	MEMBER("dialect", FORM_TEXT, dialect),
	MEMBER("model", FORM_JSON, upstream_model),
	MEMBER("system_fingerprint", FORM_JSON, system_fingerprint),
	MEMBER("headers", FORM_JSON, upstream_headers),
	MEMBER("attempts", FORM_UNSIGNED, attempts),
	MEMBER("degraded", FORM_JSON, degraded),
	MEMBER("synthetic_stream", FORM_BOOL, restreamed),
};

/* As we write them: a double has not room for all microseconds. */
static bool set_plain_seconds(uint64_t *us, struct span text)
{
	const char *point = memchr(text.data, '.', text.len);
	struct span whole = text, fraction = SPAN("0");
	uint64_t seconds, part;

	if (point) {
		whole.len = (size_t)(point - text.data);
		fraction = span_after(text, whole.len + 1);
	}
	if (fraction.len > 6 || !span_to_u64(whole, &seconds) ||
	    !span_to_u64(fraction, &part) || seconds > SECONDS_MAX)
		return false;
	for (size_t i = fraction.len; i < 6; i++)
		part *= 10;
	*us = seconds * 1000000 + part;
	return true;
}

static bool set_seconds(uint64_t *us, struct json_value value)
{
	double seconds;

	if (value.type == JSON_NUMBER && set_plain_seconds(us, value.text))
		return true;
	if (!json_to_double(value, &seconds) || seconds < 0 ||
	    seconds > SECONDS_MAX)
		return false;
	*us = (uint64_t)(seconds * 1e6 + 0.5);
	return true;
}

static bool set_unsigned(unsigned *number, struct json_value value)
{
	uint64_t wide;

	if (!json_to_u64(value, &wide) || wide > UINT32_MAX)
		return false;
	*number = (unsigned)wide;
	return true;
}

static bool set_member(struct turn *t, const struct member *m,
		       struct json_value value)
{
	void *field = (char *)t + m->offset;

	if (value.type == JSON_NULL)
		return true;
	switch (m->form) {
	case FORM_JSON:
		*(struct span *)field = value.text;
		return true;
	case FORM_TEXT:
		if (value.type != JSON_STRING)
			return false;
		*(struct span *)field = json_inside(value);
		return true;
	case FORM_NUMBER:
		return json_to_u64(value, field);
	case FORM_UNSIGNED:
		return set_unsigned(field, value);
	case FORM_SECONDS:
		return set_seconds(field, value);
	case FORM_BOOL:
		*(bool *)field = value.type == JSON_TRUE;
		return value.type == JSON_TRUE || value.type == JSON_FALSE;
	}
	return false;
}

static const struct member *find_member(const struct member *table,
					size_t count, struct span key)
{
	for (size_t i = 0; i < count; i++)
		if (json_key_is(key, table[i].name))
			return &table[i];
	return NULL;
}

static enum turn_kind kind_of(struct json_value value)
{
	enum turn_kind kind = TURN_AGENT;

	while (kind < TURN_OTHER &&
	       !json_string_is(value, turn_kind_name(kind)))
		kind++;
	return kind;
}

static enum token_status status_of(struct json_value value)
{
	enum token_status status = TOKENS_EXACT;

	while (status > TOKENS_NONE &&
	       !json_string_is(value, token_status_name(status)))
		status--;
	return status;
}

/* Members whose value is one of a few words; false: this is none of them. */
static bool set_word(struct turn *t, struct span key, struct json_value value,
		     bool *schema_seen)
{
	if (json_key_is(key, "schema")) {
		*schema_seen = json_string_is(value, TURN_SCHEMA);
	} else if (json_key_is(key, "kind")) {
		t->kind = kind_of(value);
	} else if (json_key_is(key, "token_status")) {
		t->token_status = status_of(value);
	} else if (json_key_is(key, "side_effects")) {
		t->side_effects_possible = json_string_is(value, "possible");
	} else {
		return false;
	}
	return true;
}

static bool bad_member(struct span key, struct error *err)
{
	return error_set(err, ERROR_MALFORMED, "record: bad value of %.*s",
			 (int)key.len, key.data);
}

static bool decode_upstream(struct span object, struct turn *t,
			    struct error *err)
{
	struct json_cursor c;
	struct span key;

	json_open(&c, object);
	json_enter_object(&c);
	while (json_next_key(&c, &key)) {
		const struct member *m = find_member(
			upstream_members, ARRAY_LEN(upstream_members), key);
		struct json_value value;

		if (json_read(&c, &value) && m && !set_member(t, m, value))
			return bad_member(key, err);
	}
	return json_close(&c) || bad_member(SPAN("upstream"), err);
}

static bool decode_member(struct turn *t, struct span key,
			  struct json_value value, bool *schema_seen,
			  struct error *err)
{
	const struct member *m;

	if (set_word(t, key, value, schema_seen))
		return true;
	if (json_key_is(key, "upstream"))
		return value.type != JSON_OBJECT ||
		       decode_upstream(value.text, t, err);
	if (json_key_is(key, "prefix_break")) {
		t->prefix_broken = value.type != JSON_NULL;
		return !t->prefix_broken ||
		       json_to_u64(value, &t->prefix_break) ||
		       bad_member(key, err);
	}
	m = find_member(members, ARRAY_LEN(members), key);
	return !m || set_member(t, m, value) || bad_member(key, err);
}

bool turn_decode(struct span line, struct turn *turn, struct error *err)
{
	struct turn t = { .kind = TURN_OTHER };
	struct json_cursor c;
	bool schema_seen = false;
	struct span key;

	json_open(&c, line);
	json_enter_object(&c);
	while (json_next_key(&c, &key)) {
		struct json_value value;

		if (json_read(&c, &value) &&
		    !decode_member(&t, key, value, &schema_seen, err))
			return false;
	}
	if (!json_close(&c))
		return error_set(err, ERROR_MALFORMED,
				 "record: not a JSON object");
	if (!schema_seen)
		return error_set(err, ERROR_MALFORMED,
				 "record: schema is not " TURN_SCHEMA);
	*turn = t;
	return true;
}
