/* What was put together, as the record's turn. */
#include "proxy/assemble.h"

#include <assert.h>
#include <string.h>

#include "proxy/token_status.h"
#include "shared/json_write.h"

static void write_optional(struct json_writer *jw, const char *key,
			   const struct buf *value)
{
	if (!value->len)
		return;
	jw_key(jw, key);
	jw_raw(jw, buf_span(value));
}

/*
 * A stream as the whole answer it amounts to.  Choice 0's tokens are members of
 * the record itself and are not repeated here.
 */
static bool write_response(struct assembler *a, struct error *err)
{
	struct json_writer jw;

	jw_init(&jw, &a->response);
	jw_object_begin(&jw);
	write_optional(&jw, "id", &a->id);
	jw_key(&jw, "object");
	jw_cstring(&jw, "chat.completion");
	write_optional(&jw, "created", &a->created);
	write_optional(&jw, "model", &a->model);
	write_optional(&jw, "service_tier", &a->service_tier);
	write_optional(&jw, "system_fingerprint", &a->system_fingerprint);
	jw_key(&jw, "choices");
	jw_array_begin(&jw);
	for (size_t i = 0; i < a->choice_count; i++)
		choice_write(&a->choices[i], a->choices[i].index != 0, &jw);
	jw_array_end(&jw);
	jw_key(&jw, "usage");
	jw_raw(&jw, buf_span(&a->usage));
	write_optional(&jw, "upstream_error", &a->error);
	jw_object_end(&jw);
	return jw_finish(&jw, err);
}

/* An empty list stays absent. */
static bool close_list(struct buf *list, struct span *target, struct error *err)
{
	if (!list->len)
		return true;
	if (!buf_add(list, SPAN("]"), err))
		return false;
	*target = buf_span(list);
	return true;
}

static bool close_logprobs(struct spool *list, struct span *target,
			   struct error *err)
{
	if (spool_is_empty(list))
		return true;
	if (!spool_add(list, SPAN("]"), err))
		return false;
	if (spool_in_memory(list))
		*target = buf_span(&list->rest);
	return true;
}

static bool fill_lists(struct assembler *a, struct choice *first,
		       struct turn *t, struct error *err)
{
	const struct buf *given = choice_ids(first);
	struct buf *ids = given == &first->ids ? &first->ids : &first->told_ids;

	return close_logprobs(&first->logprobs, &t->logprobs, err) &&
	       close_list(&first->tokens, &t->completion_tokens, err) &&
	       (!given || close_list(ids, &t->completion_token_ids, err)) &&
	       close_list(&first->logps, &t->per_token_logps, err) &&
	       close_list(&a->chunk_tokens, &t->chunk_tokens, err) &&
	       close_list(&a->chunk_ms, &t->chunk_ms, err);
}

const struct spool *assemble_spilled(const struct assembler *a)
{
	const struct choice *first = assemble_first(a);

	return first && !spool_in_memory(&first->logprobs) ? &first->logprobs
							   : NULL;
}

/* The value, if it begins as one of its kind does: '{', '"'. */
static struct span if_begins(const struct buf *value, char first)
{
	return value->len && value->data[0] == first ? buf_span(value)
						     : SPAN_NONE;
}

/* A well-formed value, if it is an array of nothing but plain integers. */
static struct span if_ids(const struct buf *value)
{
	struct span ids = if_begins(value, '[');

	return ids.len && strspn(ids.data + 1, "0123456789, \t\r\n") ==
				       ids.len - 2
		       ? ids
		       : SPAN_NONE;
}

bool assemble_finish(struct assembler *a, struct turn *t, struct error *err)
{
	struct choice *first = assemble_first(a);

	assert(!a->finished);
	if (!a->whole && !write_response(a, err))
		return false;
	/* Before the lists are closed. */
	t->token_status = token_status_of(a);
	a->finished = true;
	if (first) {
		if (!fill_lists(a, first, t, err))
			return false;
		t->finish_reason = buf_span(&first->finish_reason);
		t->prompt_token_ids = if_ids(&first->prompt_ids);
	}
	t->response = buf_span(&a->response);
	if (a->prompt_ids.len)
		t->prompt_token_ids = if_ids(&a->prompt_ids);
	t->usage = if_begins(&a->usage, '{');
	t->upstream_model = if_begins(&a->model, '"');
	t->system_fingerprint = if_begins(&a->system_fingerprint, '"');
	if (a->first_us)
		t->ttft_us = a->first_us - a->start_us;
	return true;
}
