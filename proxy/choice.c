/* Joining the pieces of one choice. */
#include "proxy/choice.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shared/json_text.h"
#include "shared/limits.h"
#include "shared/mem.h"

/* vLLM's stand-in for a log-probability that it does not have. */
#define PLACEHOLDER_LOGPROB (-9999.0)

static const char *const text_names[TEXT_COUNT] = {
	[TEXT_CONTENT] = "content",
	[TEXT_REASONING] = "reasoning",
	[TEXT_REASONING_CONTENT] = "reasoning_content",
	[TEXT_REFUSAL] = "refusal",
};

static const char *const known_reasons[] = {
	"stop", "length", "tool_calls", "content_filter", "function_call",
};

void choice_init(struct choice *choice, uint64_t index, struct spill *spill)
{
	*choice = (struct choice){ .index = index };
	for (size_t i = 0; i < TEXT_COUNT; i++)
		buf_init(&choice->text[i], LIMIT_TURN_PART);
	buf_init(&choice->finish_reason, LIMIT_TURN_PART);
	spool_init(&choice->logprobs, spill, LIMIT_TURN_PART);
	buf_init(&choice->tokens, LIMIT_TURN_PART);
	buf_init(&choice->logps, LIMIT_TURN_PART);
	buf_init(&choice->ids, LIMIT_TURN_PART);
	buf_init(&choice->told_ids, LIMIT_TURN_PART);
	buf_init(&choice->prompt_ids, LIMIT_TURN_PART);
}

static void tool_call_release(struct tool_call *call)
{
	buf_release(&call->id);
	buf_release(&call->type);
	buf_release(&call->name);
	buf_release(&call->arguments);
}

void choice_release(struct choice *choice)
{
	for (size_t i = 0; i < TEXT_COUNT; i++)
		buf_release(&choice->text[i]);
	for (size_t i = 0; i < choice->call_count; i++)
		tool_call_release(&choice->calls[i]);
	free(choice->calls);
	buf_release(&choice->finish_reason);
	spool_release(&choice->logprobs);
	buf_release(&choice->tokens);
	buf_release(&choice->logps);
	buf_release(&choice->ids);
	buf_release(&choice->told_ids);
	buf_release(&choice->prompt_ids);
}

/* Add a value to a list. */
static bool add_item(struct buf *list, struct span item, struct error *err)
{
	return buf_add(list, list->len ? SPAN(",") : SPAN("["), err) &&
	       buf_add(list, item, err);
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

/* Keep the first value of that type. */
static bool set_once(struct buf *buf, struct json_value value,
		     enum json_type type, struct error *err)
{
	if (buf->len || value.type != type)
		return true;
	return buf_add(buf, value.text, err);
}

static bool add_text(struct choice *choice, enum choice_text which,
		     struct json_value value, bool *text, struct error *err)
{
	struct span inside;

	if (value.type != JSON_STRING)
		return true;
	inside = json_inside(value);
	choice->text_given[which] = true;
	*text |= inside.len > 0;
	return buf_add(&choice->text[which], inside, err);
}

static struct tool_call *find_call(struct choice *choice, uint64_t index)
{
	for (size_t i = 0; i < choice->call_count; i++)
		if (choice->calls[i].index == index)
			return &choice->calls[i];
	return NULL;
}

static struct tool_call *add_call(struct choice *choice, uint64_t index,
				  struct error *err)
{
	struct tool_call *call;

	if (choice->call_count == LIMIT_TOOL_CALLS) {
		error_set(err, ERROR_TOO_LARGE, "more than %d tool calls",
			  LIMIT_TOOL_CALLS);
		return NULL;
	}
	choice->calls = xrealloc_array(choice->calls, choice->call_count + 1,
				       sizeof(*choice->calls));
	call = &choice->calls[choice->call_count++];
	*call = (struct tool_call){ .index = index };
	buf_init(&call->id, LIMIT_TURN_PART);
	buf_init(&call->type, LIMIT_TURN_PART);
	buf_init(&call->name, LIMIT_TURN_PART);
	buf_init(&call->arguments, LIMIT_TURN_PART);
	return call;
}

/*
 * The call that a piece belongs to.  Some servers leave the index out of
 * pieces, and all leave it out of whole messages: an id then starts a new call.
 * With an index the id says nothing: some give each piece another one.
 */
static struct tool_call *call_of_piece(struct choice *choice,
				       struct json_value index,
				       struct json_value id, struct error *err)
{
	struct tool_call *call = NULL;
	uint64_t number;

	if (json_to_u64(index, &number)) {
		call = find_call(choice, number);
		return call ? call : add_call(choice, number, err);
	}
	if (choice->call_count)
		call = &choice->calls[choice->call_count - 1];
	if (!call || (id.type == JSON_STRING && call->id.len &&
		      !span_equals(buf_span(&call->id), id.text)))
		call = add_call(choice, choice->call_count, err);
	return call;
}

static bool add_call_piece(struct choice *choice, struct span piece,
			   struct error *err)
{
	enum { INDEX, ID, TYPE, FUNCTION, COUNT };
	enum { NAME, ARGUMENTS, FUNCTION_COUNT };
	static const char *const names[COUNT] = { "index", "id", "type",
						  "function" };
	static const char *const function_names[FUNCTION_COUNT] = {
		"name", "arguments"
	};
	struct json_value v[COUNT], f[FUNCTION_COUNT];
	struct tool_call *call;

	if (!json_pick(piece, names, v, COUNT))
		return true;
	call = call_of_piece(choice, v[INDEX], v[ID], err);
	if (!call)
		return false;
	json_pick(v[FUNCTION].text, function_names, f, FUNCTION_COUNT);
	if (!set_once(&call->id, v[ID], JSON_STRING, err) ||
	    !set_once(&call->type, v[TYPE], JSON_STRING, err) ||
	    !set_once(&call->name, f[NAME], JSON_STRING, err))
		return false;
	return f[ARGUMENTS].type != JSON_STRING ||
	       buf_add(&call->arguments, json_inside(f[ARGUMENTS]), err);
}

static bool add_calls(struct choice *choice, struct json_value calls,
		      bool *text, struct error *err)
{
	struct json_cursor c;
	struct json_value piece;

	if (calls.type != JSON_ARRAY)
		return true;
	json_open(&c, calls.text);
	json_enter_array(&c);
	while (json_next_item(&c) && json_read(&c, &piece)) {
		*text = true;
		if (!add_call_piece(choice, piece.text, err))
			return false;
	}
	return true;
}

/* A delta or a message: the same members. */
static bool add_message(struct choice *choice, struct span object, bool *text,
			struct error *err)
{
	enum { TOOL_CALLS = TEXT_COUNT, COUNT };
	const char *names[COUNT];
	struct json_value v[COUNT];

	for (size_t i = 0; i < TEXT_COUNT; i++)
		names[i] = text_names[i];
	names[TOOL_CALLS] = "tool_calls";
	json_pick(object, names, v, COUNT);
	for (enum choice_text i = 0; i < TEXT_COUNT; i++)
		if (!add_text(choice, i, v[i], text, err))
			return false;
	return add_calls(choice, v[TOOL_CALLS], text, err);
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

		if (span_to_u64(digits, &number))
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

/* The cursor is at an entry of logprobs.content. */
static bool add_entry(struct choice *choice, struct json_cursor *c,
		      struct error *err)
{
	enum { TOKEN, LOGPROB, ID, COUNT };
	static const char *const names[COUNT] = { "token", "logprob", "id" };
	struct json_value v[COUNT];
	struct span entry, id;
	size_t start;

	json_peek(c);
	start = c->pos;
	json_pick_next(c, names, v, COUNT);
	entry = span_from(c->source.data + start, c->pos - start);
	choice->entry_count++;
	if (v[TOKEN].type != JSON_STRING || !is_usable(v[LOGPROB]))
		choice->bad_entry = true;
	id = told_id(v[TOKEN], v[ID]);
	choice->told_count += id.len > 0;
	return add_item(&choice->told_ids, id.len ? id : SPAN("null"), err) &&
	       spool_add(&choice->logprobs,
			 spool_is_empty(&choice->logprobs) ? SPAN("[")
							   : SPAN(","),
			 err) &&
	       add_fit_for_line(&choice->logprobs, entry, err) &&
	       add_item(&choice->tokens,
			v[TOKEN].text.len ? v[TOKEN].text : SPAN("null"),
			err) &&
	       add_item(&choice->logps,
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
		if (!add_item(&choice->ids, id.text, err))
			return false;
	}
	return true;
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
	if (!add_message(choice, v[has_delta ? DELTA : MESSAGE].text, text,
			 err) ||
	    !choice_add_ids(choice,
			    v[v[TOKEN_IDS].type == JSON_ARRAY ? TOKEN_IDS
							      : RESPONSE_IDS],
			    err) ||
	    !set_once(&choice->prompt_ids, v[PROMPT_IDS], JSON_ARRAY, err))
		return false;
	if (v[FINISH_REASON].type != JSON_STRING)
		return true;
	buf_clear(&choice->finish_reason);
	return buf_add(&choice->finish_reason, v[FINISH_REASON].text, err);
}

bool choice_add(struct choice *choice, struct json_cursor *c, size_t *tokens,
		bool *text, struct error *err)
{
	size_t entries = choice->entry_count, ids = choice->id_count;
	struct json_value v[MEMBERS];
	struct span key;

	for (size_t i = 0; i < MEMBERS; i++)
		v[i] = JSON_VALUE_NONE;
	json_enter_object(c);
	while (json_next_key(c, &key)) {
		size_t i = 0;

		if (json_key_is(key, "logprobs")) {
			if (choice->entry_count != entries)
				skip_again(choice, c);
			else if (!add_logprobs(choice, c, err))
				return false;
			continue;
		}
		while (i < MEMBERS && !json_key_is(key, member_names[i]))
			i++;
		if (i < MEMBERS)
			json_read(c, &v[i]);
		else
			json_skip(c);
	}
	*text = false;
	if (!add_members(choice, v, text, err))
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

static void write_calls(const struct choice *choice, struct json_writer *jw)
{
	jw_key(jw, "tool_calls");
	jw_array_begin(jw);
	for (size_t i = 0; i < choice->call_count; i++) {
		const struct tool_call *call = &choice->calls[i];

		jw_object_begin(jw);
		jw_key(jw, "id");
		jw_raw(jw, buf_span(&call->id));
		jw_key(jw, "type");
		jw_raw(jw, call->type.len ? buf_span(&call->type)
					  : SPAN("\"function\""));
		jw_key(jw, "function");
		jw_object_begin(jw);
		jw_key(jw, "name");
		jw_raw(jw, buf_span(&call->name));
		jw_key(jw, "arguments");
		jw_wrapped(jw, "\"", buf_span(&call->arguments), "\"");
		jw_object_end(jw);
		jw_object_end(jw);
	}
	jw_array_end(jw);
}

static void write_message(const struct choice *choice, struct json_writer *jw)
{
	jw_object_begin(jw);
	jw_key(jw, "role");
	jw_cstring(jw, "assistant");
	for (size_t i = 0; i < TEXT_COUNT; i++) {
		if (!choice->text_given[i] && i != TEXT_CONTENT)
			continue;
		jw_key(jw, text_names[i]);
		if (choice->text_given[i])
			jw_wrapped(jw, "\"", buf_span(&choice->text[i]), "\"");
		else
			jw_null(jw);
	}
	if (choice->call_count)
		write_calls(choice, jw);
	jw_object_end(jw);
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
	write_message(choice, jw);
	jw_key(jw, "finish_reason");
	jw_raw(jw, buf_span(&choice->finish_reason));
	if (with_tokens)
		write_tokens(choice, jw);
	jw_object_end(jw);
}
