/* The trace record: written by one table of members, read by another. */
#include "shared/turn.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shared/base64.h"
#include "shared/json_scan.h"
#include "shared/json_text.h"
#include "shared/json_write.h"

static const char *const kind_names[] = {
	[TURN_AGENT] = "agent",           [TURN_TITLE] = "title",
	[TURN_COMPACTION] = "compaction", [TURN_SUBAGENT] = "subagent",
	[TURN_OTHER] = "other",
};

static const char *const status_names[] = {
	[TOKENS_NONE] = "none",
	[TOKENS_IDS_ONLY] = "ids_only",
	[TOKENS_LOGPROBS_ONLY] = "logprobs_only",
	[TOKENS_MISMATCH] = "mismatch",
	[TOKENS_UNCONFIRMED] = "unconfirmed",
	[TOKENS_EXACT] = "exact",
};

const char *turn_kind_name(enum turn_kind kind)
{
	return kind_names[kind];
}

const char *token_status_name(enum token_status status)
{
	return status_names[status];
}

static void write_text(struct json_writer *jw, const char *key,
		       struct span text)
{
	jw_key(jw, key);
	if (text.len)
		jw_string(jw, text);
	else
		jw_null(jw);
}

static void write_json(struct json_writer *jw, const char *key,
		       struct span json)
{
	/* Some servers print their answers on several lines. */
	jw_key(jw, key);
	jw_raw_on_one_line(jw, json);
}

static void write_array(struct json_writer *jw, const char *key,
			struct span json)
{
	write_json(jw, key, json.len ? json : SPAN("[]"));
}

static void write_us(struct json_writer *jw, const char *key, uint64_t us)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 ".%06u", us / 1000000,
		 (unsigned)(us % 1000000));
	jw_key(jw, key);
	jw_raw(jw, span_of(text));
}

/* A body that is no JSON Lines material is kept whole all the same. */
static bool write_request(struct json_writer *jw, struct span body,
			  struct error *err)
{
	struct buf base64;
	bool ok;

	jw_key(jw, "request");
	if (json_valid(body)) {
		jw_raw_on_one_line(jw, body);
		return true;
	}
	jw_null(jw);
	buf_init(&base64, base64_length(body.len) + 1);
	ok = base64_encode(body, &base64, err);
	if (ok) {
		jw_key(jw, "request_base64");
		jw_string(jw, buf_span(&base64));
	}
	buf_release(&base64);
	return ok;
}

static void write_number(struct json_writer *jw, const char *key,
			 uint64_t number, bool present)
{
	jw_key(jw, key);
	if (present)
		jw_u64(jw, number);
	else
		jw_null(jw);
}

static void write_tokens(struct json_writer *jw, const struct turn *t,
			 size_t *logprobs_at)
{
	if (logprobs_at) {
		jw_key(jw, "logprobs");
		jw_wrapped(jw, "", SPAN_NONE, "");
		*logprobs_at = jw->out->len;
	} else {
		write_json(jw, "logprobs", t->logprobs);
	}
	write_array(jw, "completion_tokens", t->completion_tokens);
	write_array(jw, "completion_token_ids", t->completion_token_ids);
	write_array(jw, "per_token_logps", t->per_token_logps);
	write_json(jw, "prompt_token_ids", t->prompt_token_ids);
	write_array(jw, "chunk_tokens", t->chunk_tokens);
	write_array(jw, "chunk_ms", t->chunk_ms);
	jw_key(jw, "token_status");
	jw_cstring(jw, token_status_name(t->token_status));
	write_text(jw, "logprobs_mode", t->logprobs_mode);
	write_number(jw, "prefix_of", t->prefix_of, t->prefix_of);
	write_number(jw, "prefix_break", t->prefix_break, t->prefix_broken);
}

static void write_upstream(struct json_writer *jw, const struct turn *t)
{
	jw_key(jw, "upstream");
	jw_object_begin(jw);
	write_number(jw, "status", t->upstream_status, t->upstream_status);
	write_text(jw, "dialect", t->dialect);
	write_json(jw, "model", t->upstream_model);
	write_json(jw, "system_fingerprint", t->system_fingerprint);
	write_json(jw, "headers", t->upstream_headers);
	write_number(jw, "attempts", t->attempts, true);
	write_array(jw, "degraded", t->degraded);
	jw_key(jw, "synthetic_stream");
	jw_bool(jw, t->restreamed);
	jw_object_end(jw);
}

static void write_ending(struct json_writer *jw, const struct turn *t)
{
	jw_key(jw, "complete");
	jw_bool(jw, t->complete);
	jw_key(jw, "delivered");
	jw_bool(jw, t->delivered);
	write_text(jw, "abort_reason", t->abort_reason);
	jw_key(jw, "side_effects");
	jw_cstring(jw, t->side_effects_possible ? "possible" : NULL);
}

static bool encode(const struct turn *t, struct buf *line, size_t *logprobs_at,
		   struct error *err)
{
	struct json_writer jw;

	jw_init(&jw, line);
	jw_object_begin(&jw);
	jw_key(&jw, "schema");
	jw_cstring(&jw, TURN_SCHEMA);
	write_number(&jw, "turn", t->number, true);
	jw_key(&jw, "kind");
	jw_cstring(&jw, turn_kind_name(t->kind));
	write_text(&jw, "rollout_id", t->rollout_id);
	write_text(&jw, "session_id", t->session_id);
	write_text(&jw, "parent_session_id", t->parent_session_id);
	write_number(&jw, "attempt", t->attempt, true);
	write_number(&jw, "supersedes", t->supersedes, t->supersedes);
	if (!write_request(&jw, t->request, err))
		return false;
	write_json(&jw, "response", t->response);
	write_json(&jw, "finish_reason", t->finish_reason);
	write_tokens(&jw, t, logprobs_at);
	write_json(&jw, "usage", t->usage);
	write_json(&jw, "sampling", t->sampling);
	write_upstream(&jw, t);
	write_us(&jw, "timestamp", t->timestamp_us);
	write_us(&jw, "latency_s", t->latency_us);
	if (t->ttft_us)
		write_us(&jw, "ttft_s", t->ttft_us);
	else
		write_json(&jw, "ttft_s", SPAN_NONE);
	write_ending(&jw, t);
	jw_object_end(&jw);
	return jw_finish(&jw, err);
}

bool turn_encode(const struct turn *t, struct buf *line, struct error *err)
{
	return encode(t, line, NULL, err);
}

bool turn_encode_around(const struct turn *t, struct buf *line,
			size_t *logprobs_at, struct error *err)
{
	return encode(t, line, logprobs_at, err);
}

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

static bool set_seconds(uint64_t *us, struct json_value value)
{
	double seconds;

	if (!json_to_double(value, &seconds) || seconds < 0 || seconds > 1e12)
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

/* The index of the name that the value spells; `count` if there is none. */
static size_t name_index(const char *const *names, size_t count,
			 struct json_value value)
{
	size_t i = 0;

	while (i < count && !json_string_is(value, names[i]))
		i++;
	return i;
}

/* Members whose value is one of a few words; false: this is none of them. */
static bool set_word(struct turn *t, struct span key, struct json_value value,
		     bool *schema_seen)
{
	size_t i;

	if (json_key_is(key, "schema")) {
		*schema_seen = json_string_is(value, TURN_SCHEMA);
	} else if (json_key_is(key, "kind")) {
		i = name_index(kind_names, ARRAY_LEN(kind_names), value);
		t->kind = i < ARRAY_LEN(kind_names) ? (enum turn_kind)i
						    : TURN_OTHER;
	} else if (json_key_is(key, "token_status")) {
		i = name_index(status_names, ARRAY_LEN(status_names), value);
		t->token_status = i < ARRAY_LEN(status_names)
					  ? (enum token_status)i
					  : TOKENS_NONE;
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
