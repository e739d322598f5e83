/* The tokens of one choice, and how it ended. */
#include "proxy/choice.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "proxy/members.h"
#include "shared/json_text.h"
#include "shared/limits.h"

/* vLLM's stand-in for a log-probability that it does not have. */
#define PLACEHOLDER_LOGPROB (-9999.0)

static const char *const known_reasons[] = {
	"stop", "length", "tool_calls", "content_filter", "function_call",
};

void choice_init(struct choice *choice, uint64_t index, struct spill *spill)
{
	*choice = (struct choice){ .index = index };
	message_init(&choice->message);
	buf_init(&choice->finish_reason, LIMIT_TURN_PART);
	buf_init(&choice->unjoined, LIMIT_TURN_PART);
	spool_init(&choice->logprobs, spill, LIMIT_TURN_PART);
	buf_init(&choice->tokens, LIMIT_TURN_PART);
	buf_init(&choice->logps, LIMIT_TURN_PART);
	buf_init(&choice->ids, LIMIT_TURN_PART);
	buf_init(&choice->told_ids, LIMIT_TURN_PART);
	buf_init(&choice->prompt_ids, LIMIT_TURN_PART);
}

void choice_release(struct choice *choice)
{
	message_release(&choice->message);
	buf_release(&choice->finish_reason);
	buf_release(&choice->unjoined);
	spool_release(&choice->logprobs);
	buf_release(&choice->tokens);
	buf_release(&choice->logps);
	buf_release(&choice->ids);
	buf_release(&choice->told_ids);
	buf_release(&choice->prompt_ids);
}

/* What is spilled is not looked at again: it must be fit for a record. */
static bool add_fit_for_line(struct spool *list, struct span item,
			     struct error *err)
{
	struct json_writer jw;
	struct buf line;
	bool ok;

	if (span_line_length(item) == item.len && utf8_valid(item))
		return spool_add(list, item, err);
	buf_init(&line, LIMIT_TURN_PART);
	jw_init(&jw, &line);
	jw_raw_on_one_line(&jw, item);
	ok = jw_finish(&jw, err) && spool_add(list, buf_span(&line), err);
	buf_release(&line);
	return ok;
}

/* The id in "token_id:N", as vLLM prints tokens on demand, or in `id`. */
static struct span told_id(struct json_value token, struct json_value id)
{
	uint64_t number;

	if (json_to_u64(id, &number))
		return id.text;
	if (token.type == JSON_STRING &&
	    span_starts_with(json_inside(token), "token_id:")) {
		struct span digits = span_after(json_inside(token), 9);
		bool padded = digits.len > 1 && digits.data[0] == '0';

		/* As text it goes into the record, where 007 is no number. */
		if (!padded && span_to_u64(digits, &number))
			return digits;
	}
	return SPAN_NONE;
}

/* "-D.DDD", as servers print most: there is no need to compute it. */
static bool is_plainly_usable(struct span number)
{
	const char *point;
	size_t left;

	if (number.data[0] != '-' || number.len > 32)
		return false;
	point = memchr(number.data, '.', number.len);
	if (!point || point - number.data > 4)
		return false;
	left = (size_t)(number.data + number.len - point);
	return !memchr(point, 'e', left) && !memchr(point, 'E', left);
}

static bool is_usable(struct json_value logprob)
{
	double number;

	if (logprob.type == JSON_NUMBER && is_plainly_usable(logprob.text))
		return true;
	return json_to_double(logprob, &number) && number <= 0 &&
	       number > PLACEHOLDER_LOGPROB;
}

/* Most servers tell none: nulls only as soon as there is an id among them. */
static bool add_told_id(struct choice *choice, struct span id,
			struct error *err)
{
	if (!id.len && !choice->told_count)
		return true;
	for (size_t i = 1; !choice->told_count && i < choice->entry_count; i++)
		if (!list_add(&choice->told_ids, SPAN("null"), err))
			return false;
	choice->told_count += id.len > 0;
	return list_add(&choice->told_ids, id.len ? id : SPAN("null"), err);
}

/* The cursor is at an entry of logprobs.content. */
static bool add_entry(struct choice *choice, struct json_cursor *c,
		      struct error *err)
{
	enum { TOKEN, LOGPROB, ID, COUNT };
	static const char *const names[COUNT] = { "token", "logprob", "id" };
	struct json_value v[COUNT];
	struct span entry;
	size_t start;

	json_peek(c);
	start = c->pos;
	json_pick_next(c, names, v, COUNT);
	entry = span_from(c->source.data + start, c->pos - start);
	choice->entry_count++;
	if (v[TOKEN].type != JSON_STRING || !is_usable(v[LOGPROB]))
		choice->bad_entry = true;
	return add_told_id(choice, told_id(v[TOKEN], v[ID]), err) &&
	       spool_add(&choice->logprobs,
			 spool_is_empty(&choice->logprobs) ? SPAN("[")
							   : SPAN(","),
			 err) &&
	       add_fit_for_line(&choice->logprobs, entry, err) &&
	       list_add(&choice->tokens,
			v[TOKEN].text.len ? v[TOKEN].text : SPAN("null"),
			err) &&
	       list_add(&choice->logps,
			v[LOGPROB].text.len ? v[LOGPROB].text : SPAN("null"),
			err);
}

/* A list behind another one of the same piece: which of them holds? */
static void skip_again(struct choice *choice, struct json_cursor *c)
{
	choice->bad_entry = true;
	json_skip(c);
}

static bool add_entries(struct choice *choice, struct json_cursor *c,
			struct error *err)
{
	if (json_peek(c) != JSON_ARRAY) {
		json_skip(c);
		return true;
	}
	json_enter_array(c);
	while (json_next_item(c))
		if (!add_entry(choice, c, err))
			return false;
	return true;
}

static bool add_logprobs(struct choice *choice, struct json_cursor *c,
			 struct error *err)
{
	size_t entries = choice->entry_count;
	struct span key;

	if (json_peek(c) != JSON_OBJECT) {
		json_skip(c);
		return true;
	}
	json_enter_object(c);
	while (json_next_key(c, &key)) {
		if (!json_key_is(key, "content"))
			json_skip(c);
		else if (choice->entry_count != entries)
			skip_again(choice, c);
		else if (!add_entries(choice, c, err))
			return false;
	}
	return true;
}

bool choice_add_ids(struct choice *choice, struct json_value ids,
		    struct error *err)
{
	struct json_cursor c;
	struct json_value id;
	uint64_t number;

	if (ids.type != JSON_ARRAY)
		return true;
	json_open(&c, ids.text);
	json_enter_array(&c);
	while (json_next_item(&c) && json_read(&c, &id)) {
		choice->id_count++;
		choice->bad_entry |= !json_to_u64(id, &number);
		if (!list_add(&choice->ids, id.text, err))
			return false;
	}
	return true;
}

static bool keep_prompt_ids(struct choice *choice, struct json_value ids,
			    struct error *err)
{
	return choice->prompt_ids.len || ids.type != JSON_ARRAY ||
	       buf_add(&choice->prompt_ids, ids.text, err);
}

/* Where in the choice they are is not known before: the other members. */
enum {
	INDEX,
	DELTA,
	MESSAGE,
	TOKEN_IDS,
	RESPONSE_IDS,
	PROMPT_IDS,
	FINISH_REASON,
	MEMBERS,
};

static const char *const member_names[MEMBERS] = {
	[INDEX] = "index",
	[DELTA] = "delta",
	[MESSAGE] = "message",
	[TOKEN_IDS] = "token_ids",
	[RESPONSE_IDS] = "response_token_ids",
	[PROMPT_IDS] = "prompt_token_ids",
	[FINISH_REASON] = "finish_reason",
};

static bool add_members(struct choice *choice, const struct json_value *v,
			bool *text, struct error *err)
{
	bool has_delta = v[DELTA].type == JSON_OBJECT;
	uint64_t index;

	choice->bad_entry |=
		json_to_u64(v[INDEX], &index) && index != choice->index;
	/* Who gives both in a stream repeats in one what the other has. */
	if (!message_add(&choice->message, v[has_delta ? DELTA : MESSAGE].text,
			 text, err) ||
	    !choice_add_ids(choice,
			    v[v[TOKEN_IDS].type == JSON_ARRAY ? TOKEN_IDS
							      : RESPONSE_IDS],
			    err) ||
	    !keep_prompt_ids(choice, v[PROMPT_IDS], err))
		return false;
	if (v[FINISH_REASON].type != JSON_STRING)
		return true;
	buf_clear(&choice->finish_reason);
	return buf_add(&choice->finish_reason, v[FINISH_REASON].text, err);
}

static bool add_other(struct json_cursor *c, struct span key, struct rest *rest,
		      struct error *err)
{
	struct json_value value = JSON_VALUE_NONE;

	json_read(c, &value);
	return value.type == JSON_NONE || value.type == JSON_NULL ||
	       rest_add(rest, key, value.text, err);
}

static size_t member_index(struct span key)
{
	size_t i = 0;

	while (i < MEMBERS && !json_key_is(key, member_names[i]))
		i++;
	return i;
}

/* All but its log-probabilities, which are added at once. */
static bool read_members(struct choice *choice, struct json_cursor *c,
			 struct json_value *v, struct error *err)
{
	struct rest rest = { .list = &choice->unjoined };
	size_t entries = choice->entry_count;
	struct span key;
	bool ok = true;

	for (size_t i = 0; i < MEMBERS; i++)
		v[i] = JSON_VALUE_NONE;
	json_enter_object(c);
	while (ok && json_next_key(c, &key)) {
		size_t i;

		if (json_key_is(key, "logprobs")) {
			if (choice->entry_count != entries)
				skip_again(choice, c);
			else
				ok = add_logprobs(choice, c, err);
			continue;
		}
		i = member_index(key);
		if (i < MEMBERS)
			json_read(c, &v[i]);
		else
			ok = add_other(c, key, &rest, err);
	}
	return ok && rest_end(&rest, err);
}

bool choice_add(struct choice *choice, struct json_cursor *c, size_t *tokens,
		bool *text, struct error *err)
{
	size_t entries = choice->entry_count, ids = choice->id_count;
	struct json_value v[MEMBERS];

	*text = false;
	if (!read_members(choice, c, v, err) ||
	    !add_members(choice, v, text, err))
		return false;
	entries = choice->entry_count - entries;
	ids = choice->id_count - ids;
	*tokens = ids > entries ? ids : entries;
	return true;
}

bool choice_is_finished(const struct choice *choice)
{
	struct json_value reason = {
		.type = choice->finish_reason.len ? JSON_STRING : JSON_NONE,
		.text = buf_span(&choice->finish_reason),
	};

	for (size_t i = 0; i < ARRAY_LEN(known_reasons); i++)
		if (json_string_is(reason, known_reasons[i]))
			return true;
	return false;
}

const struct buf *choice_ids(const struct choice *choice)
{
	if (choice->id_count)
		return &choice->ids;
	if (choice->told_count && choice->told_count == choice->entry_count)
		return &choice->told_ids;
	return NULL;
}

static void write_tokens(const struct choice *choice, struct json_writer *jw)
{
	const struct buf *ids = choice_ids(choice);

	assert(spool_in_memory(&choice->logprobs));
	jw_key(jw, "logprobs");
	if (choice->entry_count)
		jw_wrapped(jw,
			   "{\"content\":", buf_span(&choice->logprobs.rest),
			   "]}");
	else
		jw_null(jw);
	jw_key(jw, "token_ids");
	if (ids)
		jw_wrapped(jw, "", buf_span(ids), "]");
	else
		jw_null(jw);
}

void choice_write(const struct choice *choice, bool with_tokens,
		  struct json_writer *jw)
{
	jw_object_begin(jw);
	jw_key(jw, "index");
	jw_u64(jw, choice->index);
	jw_key(jw, "message");
	message_write(&choice->message, jw);
	jw_key(jw, "finish_reason");
	jw_raw(jw, buf_span(&choice->finish_reason));
	list_write(&choice->unjoined, "unjoined", jw);
	if (with_tokens)
		write_tokens(choice, jw);
	jw_object_end(jw);
}
