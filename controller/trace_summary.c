/* Summing up a trace. */
#include "controller/trace_summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/json_scan.h"
#include "shared/json_text.h"
#include "shared/mem.h"
#include "shared/trace.h"

static uint64_t array_length(struct span array)
{
	struct json_cursor c;
	uint64_t count = 0;

	json_open(&c, array);
	json_enter_array(&c);
	for (; json_next_item(&c); count++)
		json_skip(&c);
	return count;
}

static uint64_t sum_logprobs(struct span array, double *sum)
{
	struct json_cursor c;
	struct json_value value;
	uint64_t count = 0;
	double number;

	*sum = 0;
	json_open(&c, array);
	json_enter_array(&c);
	while (json_next_item(&c) && json_read(&c, &value))
		if (json_to_double(value, &number)) {
			*sum += number;
			count++;
		}
	return count;
}

/* As it stands between the quotes; "" for anything but a string. */
static void copy_string(char *to, size_t size, struct json_value string)
{
	struct span text = SPAN_NONE;

	if (string.type == JSON_STRING)
		text = json_inside(string);
	if (text.len >= size)
		text = span_from(text.data,
				 utf8_prefix(span_from(text.data, size - 1)));
	snprintf(to, size, "%.*s", (int)text.len, text.data ? text.data : "");
}

static struct json_value upstream_error(const struct turn *turn)
{
	struct json_value error = JSON_VALUE_NONE;

	json_find(turn->response, "upstream_error", &error);
	return error;
}

/*
 * The words for a full window of the servers that opencode knows; a 413 it
 * takes for one without any.
 */
static bool is_overflow(const struct turn *turn)
{
	static const char *const words[] = {
		"context length",     "context_length",    "context window",
		"context size",       "model_max_length",  "too long",
		"maximum prompt",     "input token count", "token limit",
		"length of the mess", "exceeds the limit",
	};
	bool found = turn->upstream_status == 413;
	struct span error = upstream_error(turn).text;
	char *text;

	if (turn->upstream_status != 400 || !error.len)
		return found;
	text = xstrndup(error.data, error.len);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		found |= strcasestr(text, words[i]) != NULL;
	free(text);
	return found;
}

/* {"error":{"message":...}}, {"message":...}, or a text. */
static struct json_value upstream_message(const struct turn *turn)
{
	struct json_value error = upstream_error(turn), inner;

	if (error.type == JSON_OBJECT && json_find(error.text, "error", &inner))
		error = inner;
	if (error.type == JSON_OBJECT)
		json_find(error.text, "message", &error);
	return error;
}

void turn_line_make(const struct turn *turn, struct turn_line *line)
{
	struct json_value finish = { .type = JSON_STRING,
				     .text = turn->finish_reason };
	uint64_t count;
	double sum;

	count = sum_logprobs(turn->per_token_logps, &sum);
	*line = (struct turn_line){
		.number = turn->number,
		.kind = turn->kind,
		.token_status = turn->token_status,
		.tokens = count ? count
				: array_length(turn->completion_token_ids),
		.mean_logprob = count ? sum / (double)count : 0,
		.has_logprobs = count > 0,
		.upstream_status = turn->upstream_status,
		.overflow = is_overflow(turn),
		.complete = turn->complete,
		.delivered = turn->delivered,
		.latency_us = turn->latency_us,
		.ttft_us = turn->ttft_us,
	};
	if (turn->finish_reason.len > 2)
		copy_string(line->finish_reason, sizeof(line->finish_reason),
			    finish);
	copy_string(line->upstream_message, sizeof(line->upstream_message),
		    upstream_message(turn));
	snprintf(line->abort_reason, sizeof(line->abort_reason), "%.*s",
		 (int)turn->abort_reason.len,
		 turn->abort_reason.len ? turn->abort_reason.data : "");
}

static void add_raw(cJSON *object, const char *name, struct span json,
		    const char *fallback)
{
	char *text =
		json.len ? xstrndup(json.data, json.len) : xstrdup(fallback);

	cJSON_AddRawToObject(object, name, text);
	free(text);
}

/* One of the result's proxy_turns. */
static cJSON *make_proxy_turn(const struct turn *t)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddNumberToObject(object, "turn", (double)t->number);
	cJSON_AddStringToObject(object, "kind", turn_kind_name(t->kind));
	add_raw(object, "finish_reason", t->finish_reason, "null");
	add_raw(object, "completion_tokens", t->completion_tokens, "[]");
	add_raw(object, "completion_token_ids", t->completion_token_ids, "[]");
	add_raw(object, "per_token_logps", t->per_token_logps, "[]");
	cJSON_AddStringToObject(object, "token_status",
				token_status_name(t->token_status));
	cJSON_AddNumberToObject(object, "latency_s",
				(double)t->latency_us / 1e6);
	cJSON_AddNumberToObject(object, "timestamp",
				(double)t->timestamp_us / 1e6);
	if (t->upstream_status)
		cJSON_AddNumberToObject(object, "upstream_status",
					t->upstream_status);
	else
		cJSON_AddNullToObject(object, "upstream_status");
	add_raw(object, "upstream_error", upstream_error(t).text, "null");
	cJSON_AddBoolToObject(object, "complete", t->complete);
	cJSON_AddBoolToObject(object, "delivered", t->delivered);
	return object;
}

static uint64_t usage_number(const struct turn *t, const char *name)
{
	struct json_value value;
	uint64_t number = 0;

	if (json_find(t->usage, name, &value))
		json_to_u64(value, &number);
	return number;
}

static void add_turn(struct trace_summary *s, const struct turn *t)
{
	struct turn_line *line;

	s->turns = xrealloc_array(s->turns, s->count + 1, sizeof(*s->turns));
	line = &s->turns[s->count++];
	turn_line_make(t, line);
	if (s->proxy_turns)
		line->json = make_proxy_turn(t);
	s->prompt_tokens += usage_number(t, "prompt_tokens");
	s->completion_tokens += usage_number(t, "completion_tokens");
	s->exact += t->token_status == TOKENS_EXACT;
}

static int compare_lines(const void *a, const void *b)
{
	const struct turn_line *first = a, *second = b;

	return (first->number > second->number) -
	       (first->number < second->number);
}

static bool read_all(struct trace_summary *s, struct trace_reader *reader,
		     struct error *err)
{
	for (;;) {
		struct span line;
		struct turn turn;

		switch (trace_next(reader, &line, err)) {
		case TRACE_LINE:
			if (!turn_decode(line, &turn, err))
				return false;
			add_turn(s, &turn);
			break;
		case TRACE_TRUNCATED:
			s->truncated = true;
			return true;
		case TRACE_END:
			return true;
		case TRACE_FAILED:
			return false;
		}
	}
}

bool trace_summary_load(struct trace_summary *s, const char *path,
			bool with_proxy_turns, struct error *err)
{
	struct trace_reader *reader;
	bool ok;

	*s = (struct trace_summary){ 0 };
	if (with_proxy_turns)
		s->proxy_turns = cJSON_CreateArray();
	if (access(path, F_OK) < 0)
		return true;
	reader = trace_open(path, err);
	ok = reader && read_all(s, reader, err);
	trace_reader_free(reader);
	if (s->count)
		qsort(s->turns, s->count, sizeof(*s->turns), compare_lines);
	for (size_t i = 0; s->proxy_turns && i < s->count; i++)
		cJSON_AddItemToArray(s->proxy_turns, s->turns[i].json);
	if (ok)
		return true;
	trace_summary_release(s);
	return error_wrap(err, "%s", path);
}

void trace_summary_release(struct trace_summary *s)
{
	free(s->turns);
	cJSON_Delete(s->proxy_turns);
	*s = (struct trace_summary){ 0 };
}
