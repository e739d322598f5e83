/* Joining the pieces of a message. */
#include "proxy/message.h"

#include <stdlib.h>

#include "shared/json_text.h"
#include "shared/limits.h"
#include "shared/mem.h"

static const char *const text_names[TEXT_COUNT] = {
	[TEXT_CONTENT] = "content",
	[TEXT_REASONING] = "reasoning",
	[TEXT_REASONING_CONTENT] = "reasoning_content",
	[TEXT_REFUSAL] = "refusal",
};

void message_init(struct message *message)
{
	*message = (struct message){ 0 };
	for (size_t i = 0; i < TEXT_COUNT; i++)
		buf_init(&message->text[i], LIMIT_TURN_PART);
}

static void tool_call_release(struct tool_call *call)
{
	buf_release(&call->id);
	buf_release(&call->type);
	buf_release(&call->name);
	buf_release(&call->arguments);
}

void message_release(struct message *message)
{
	for (size_t i = 0; i < TEXT_COUNT; i++)
		buf_release(&message->text[i]);
	for (size_t i = 0; i < message->call_count; i++)
		tool_call_release(&message->calls[i]);
	free(message->calls);
}

/* Keep the first value of that type. */
static bool set_once(struct buf *buf, struct json_value value,
		     enum json_type type, struct error *err)
{
	if (buf->len || value.type != type)
		return true;
	return buf_add(buf, value.text, err);
}

static bool add_text(struct message *message, enum message_text which,
		     struct json_value value, bool *text, struct error *err)
{
	struct span inside;

	if (value.type != JSON_STRING)
		return true;
	inside = json_inside(value);
	message->text_given[which] = true;
	*text |= inside.len > 0;
	return buf_add(&message->text[which], inside, err);
}

static struct tool_call *find_call(struct message *message, uint64_t index)
{
	for (size_t i = 0; i < message->call_count; i++)
		if (message->calls[i].index == index)
			return &message->calls[i];
	return NULL;
}

static struct tool_call *add_call(struct message *message, uint64_t index,
				  struct error *err)
{
	struct tool_call *call;

	if (message->call_count == LIMIT_TOOL_CALLS) {
		error_set(err, ERROR_TOO_LARGE, "more than %d tool calls",
			  LIMIT_TOOL_CALLS);
		return NULL;
	}
	message->calls = xrealloc_array(message->calls, message->call_count + 1,
					sizeof(*message->calls));
	call = &message->calls[message->call_count++];
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
static struct tool_call *call_of_piece(struct message *message,
				       struct json_value index,
				       struct json_value id, struct error *err)
{
	struct tool_call *call = NULL;
	uint64_t number;

	if (json_to_u64(index, &number)) {
		call = find_call(message, number);
		return call ? call : add_call(message, number, err);
	}
	if (message->call_count)
		call = &message->calls[message->call_count - 1];
	if (!call || (id.type == JSON_STRING && call->id.len &&
		      !span_equals(buf_span(&call->id), id.text)))
		call = add_call(message, message->call_count, err);
	return call;
}

static bool add_call_piece(struct message *message, struct span piece,
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
	call = call_of_piece(message, v[INDEX], v[ID], err);
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

static bool add_calls(struct message *message, struct json_value calls,
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
		if (!add_call_piece(message, piece.text, err))
			return false;
	}
	return true;
}

bool message_add(struct message *message, struct span object, bool *text,
		 struct error *err)
{
	enum { TOOL_CALLS = TEXT_COUNT, COUNT };
	const char *names[COUNT];
	struct json_value v[COUNT];

	for (size_t i = 0; i < TEXT_COUNT; i++)
		names[i] = text_names[i];
	names[TOOL_CALLS] = "tool_calls";
	json_pick(object, names, v, COUNT);
	for (enum message_text i = 0; i < TEXT_COUNT; i++)
		if (!add_text(message, i, v[i], text, err))
			return false;
	return add_calls(message, v[TOOL_CALLS], text, err);
}

static void write_calls(const struct message *message, struct json_writer *jw)
{
	jw_key(jw, "tool_calls");
	jw_array_begin(jw);
	for (size_t i = 0; i < message->call_count; i++) {
		const struct tool_call *call = &message->calls[i];

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

void message_write(const struct message *message, struct json_writer *jw)
{
	jw_object_begin(jw);
	jw_key(jw, "role");
	jw_cstring(jw, "assistant");
	for (size_t i = 0; i < TEXT_COUNT; i++) {
		if (!message->text_given[i] && i != TEXT_CONTENT)
			continue;
		jw_key(jw, text_names[i]);
		if (message->text_given[i])
			jw_wrapped(jw, "\"", buf_span(&message->text[i]), "\"");
		else
			jw_null(jw);
	}
	if (message->call_count)
		write_calls(message, jw);
	jw_object_end(jw);
}
