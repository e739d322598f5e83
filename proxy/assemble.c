/* Events and bodies, taken apart and collected. */
#include "proxy/assemble.h"

#include <stdlib.h>

#include "shared/json_scan.h"
#include "shared/json_text.h"
#include "shared/json_write.h"
#include "shared/limits.h"
#include "shared/mem.h"

/* The members of an answer's outermost object that are looked at. */
enum {
	ROOT_ID,
	ROOT_CREATED,
	ROOT_MODEL,
	ROOT_FINGERPRINT,
	ROOT_TIER,
	ROOT_PROMPT_IDS,
	ROOT_USAGE,
	ROOT_ERROR,
	ROOT_CHOICES,
	ROOT_SGLEXT,
	ROOT_COUNT,
};

static const char *const root_names[ROOT_COUNT] = {
	[ROOT_ID] = "id",
	[ROOT_CREATED] = "created",
	[ROOT_MODEL] = "model",
	[ROOT_FINGERPRINT] = "system_fingerprint",
	[ROOT_TIER] = "service_tier",
	[ROOT_PROMPT_IDS] = "prompt_token_ids",
	[ROOT_USAGE] = "usage",
	[ROOT_ERROR] = "error",
	[ROOT_CHOICES] = "choices",
	[ROOT_SGLEXT] = "sglext",
};

/* Where the first value of each root member is kept. */
static struct buf *root_buf(struct assembler *a, size_t member)
{
	struct buf *const bufs[ROOT_CHOICES] = {
		[ROOT_ID] = &a->id,
		[ROOT_CREATED] = &a->created,
		[ROOT_MODEL] = &a->model,
		[ROOT_FINGERPRINT] = &a->system_fingerprint,
		[ROOT_TIER] = &a->service_tier,
		[ROOT_PROMPT_IDS] = &a->prompt_ids,
		[ROOT_USAGE] = &a->usage,
		[ROOT_ERROR] = &a->error,
	};

	return bufs[member];
}

void assemble_init(struct assembler *a, uint64_t start_us)
{
	*a = (struct assembler){ .start_us = start_us };
	for (size_t i = 0; i < ROOT_CHOICES; i++)
		buf_init(root_buf(a, i), LIMIT_TURN_PART);
	buf_init(&a->chunk_tokens, LIMIT_TURN_PART);
	buf_init(&a->chunk_ms, LIMIT_TURN_PART);
	buf_init(&a->response, LIMIT_TRACE_RECORD);
}

void assemble_release(struct assembler *a)
{
	for (size_t i = 0; i < a->choice_count; i++)
		choice_release(&a->choices[i]);
	free(a->choices);
	for (size_t i = 0; i < ROOT_CHOICES; i++)
		buf_release(root_buf(a, i));
	buf_release(&a->chunk_tokens);
	buf_release(&a->chunk_ms);
	buf_release(&a->response);
}

/* The first value counts, but of usage the last: it grows. */
static bool keep_root(struct assembler *a, size_t member,
		      struct json_value value, struct error *err)
{
	struct buf *buf = root_buf(a, member);

	if (value.type == JSON_NONE || value.type == JSON_NULL)
		return true;
	if (member == ROOT_USAGE)
		buf_clear(buf);
	return buf->len || buf_add(buf, value.text, err);
}

/* The index of the choice that comes next; mostly its first member. */
static uint64_t peek_index(const struct json_cursor *at, uint64_t unnamed)
{
	struct json_cursor c = *at;
	struct json_value value;
	uint64_t index = unnamed;
	struct span key;

	json_enter_object(&c);
	while (json_next_key(&c, &key) && json_read(&c, &value))
		if (json_key_is(key, "index")) {
			json_to_u64(value, &index);
			break;
		}
	return index;
}

static struct choice *find_choice(struct assembler *a, uint64_t index,
				  struct error *err)
{
	for (size_t i = 0; i < a->choice_count; i++)
		if (a->choices[i].index == index)
			return &a->choices[i];
	if (a->choice_count == LIMIT_TURN_CHOICES) {
		error_set(err, ERROR_TOO_LARGE, "more than %d choices",
			  LIMIT_TURN_CHOICES);
		return NULL;
	}
	a->choices = xrealloc_array(a->choices, a->choice_count + 1,
				    sizeof(*a->choices));
	choice_init(&a->choices[a->choice_count], index,
		    index ? NULL : a->spill);
	return &a->choices[a->choice_count++];
}

static bool add_number(struct buf *list, uint64_t number, struct error *err)
{
	char text[24];
	size_t at = sizeof(text);

	do
		text[--at] = (char)('0' + number % 10);
	while (number /= 10);
	text[--at] = list->len ? ',' : '[';
	return buf_add(list, span_from(text + at, sizeof(text) - at), err);
}

/* How the tokens of choice 0 came, which a replay repeats. */
static bool note_chunk(struct assembler *a, size_t tokens, uint64_t now_us,
		       struct error *err)
{
	return add_number(&a->chunk_tokens, tokens, err) &&
	       add_number(&a->chunk_ms, (now_us - a->start_us) / 1000, err);
}

/* One that has no index is choice 0 of a stream; of a whole body, by place. */
static bool add_choice(struct assembler *a, struct json_cursor *c,
		       uint64_t place, uint64_t now_us, struct error *err)
{
	size_t known = a->choice_count;
	struct choice *choice =
		find_choice(a, peek_index(c, a->whole ? place : 0), err);
	size_t tokens;
	bool text;

	/* Those of a whole body are each a choice of its own. */
	if (choice && a->whole && a->choice_count == known)
		choice->bad_entry = true;
	if (!choice || !choice_add(choice, c, &tokens, &text, err))
		return false;
	if (!a->first_us)
		a->first_us = now_us;
	return choice->index || (!tokens && !text) || a->whole ||
	       note_chunk(a, tokens, now_us, err);
}

/* `choices` is well-formed: it was read as a part of the answer. */
static bool add_choices(struct assembler *a, struct json_value choices,
			uint64_t now_us, struct error *err)
{
	struct json_cursor c;

	if (choices.type != JSON_ARRAY) {
		a->unreadable |=
			choices.type != JSON_NONE && choices.type != JSON_NULL;
		return true;
	}
	json_open_value(&c, choices);
	json_enter_array(&c);
	for (uint64_t place = 0; json_next_item(&c); place++) {
		if (json_peek(&c) != JSON_OBJECT) {
			a->unreadable = true;
			json_skip(&c);
		} else if (!add_choice(a, &c, place, now_us, err)) {
			return false;
		}
	}
	return true;
}

/* SGLang: {"input_ids":[...],"output_ids":[[of choice 0],[of choice 1]...]} */
static bool add_sglext(struct assembler *a, struct json_value sglext,
		       struct error *err)
{
	enum { INPUT, OUTPUT, COUNT };
	static const char *const names[COUNT] = { "input_ids", "output_ids" };
	struct json_value v[COUNT], ids;
	struct json_cursor c;
	uint64_t index = 0;

	if (!json_pick(sglext.text, names, v, COUNT))
		return true;
	if (v[INPUT].type == JSON_ARRAY &&
	    !keep_root(a, ROOT_PROMPT_IDS, v[INPUT], err))
		return false;
	if (v[OUTPUT].type != JSON_ARRAY)
		return true;
	json_open(&c, v[OUTPUT].text);
	json_enter_array(&c);
	for (; json_next_item(&c) && json_read(&c, &ids); index++)
		for (size_t i = 0; i < a->choice_count; i++)
			if (a->choices[i].index == index &&
			    !a->choices[i].id_count &&
			    !choice_add_ids(&a->choices[i], ids, err))
				return false;
	return true;
}

static bool add_root(struct assembler *a, struct span object, uint64_t now_us,
		     struct error *err)
{
	struct json_value v[ROOT_COUNT];
	struct json_cursor c;
	bool is_object;

	json_open_indexed(&c, object, a->index);
	is_object = json_peek(&c) == JSON_OBJECT;
	json_pick_next(&c, root_names, v, ROOT_COUNT);
	if (!json_close(&c) || !is_object) {
		/* Behind the end of all choices it bears nothing of them. */
		a->unreadable |= object.len && !assemble_is_finished(a);
		return true;
	}
	for (size_t i = 0; i < ROOT_CHOICES; i++)
		if (!keep_root(a, i, v[i], err))
			return false;
	return add_choices(a, v[ROOT_CHOICES], now_us, err) &&
	       add_sglext(a, v[ROOT_SGLEXT], err);
}

bool assemble_event(struct assembler *a, struct span data, uint64_t now_us,
		    struct error *err)
{
	return add_root(a, data, now_us, err);
}

bool assemble_response(struct assembler *a, struct span body, struct error *err)
{
	a->whole = json_valid(body);
	if (a->whole && !buf_add(&a->response, body, err))
		return false;
	return add_root(a, body, 0, err);
}

bool assemble_refusal(struct assembler *a, unsigned status, struct span body,
		      struct error *err)
{
	struct json_writer jw;

	a->whole = true;
	buf_clear(&a->response);
	jw_init(&jw, &a->response);
	jw_object_begin(&jw);
	jw_key(&jw, "choices");
	jw_array_begin(&jw);
	jw_array_end(&jw);
	jw_key(&jw, "usage");
	jw_null(&jw);
	jw_key(&jw, "upstream_status");
	if (status)
		jw_u64(&jw, status);
	else
		jw_null(&jw);
	jw_key(&jw, "upstream_error");
	if (json_valid(body))
		jw_raw(&jw, body);
	else
		jw_string(&jw, body);
	jw_object_end(&jw);
	return jw_finish(&jw, err);
}

struct choice *assemble_first(const struct assembler *a)
{
	for (size_t i = 0; i < a->choice_count; i++)
		if (a->choices[i].index == 0)
			return &a->choices[i];
	return NULL;
}

uint64_t assemble_tokens(const struct assembler *a)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < a->choice_count; i++) {
		const struct choice *choice = &a->choices[i];

		sum += choice->entry_count ? choice->entry_count
					   : choice->id_count;
	}
	return sum;
}

bool assemble_has_error(const struct assembler *a)
{
	return a->error.len > 0;
}

bool assemble_is_finished(const struct assembler *a)
{
	for (size_t i = 0; i < a->choice_count; i++)
		if (!choice_is_finished(&a->choices[i]))
			return false;
	return assemble_first(a) && !a->error.len;
}

void assemble_spill_to(struct assembler *a, struct spill *spill)
{
	a->spill = spill;
}
