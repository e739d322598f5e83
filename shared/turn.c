/* Writing the trace record, and its words. */
#include "shared/turn.h"

#include <inttypes.h>
#include <stdio.h>

#include "shared/base64.h"
#include "shared/json_scan.h"
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
