/* Joining the pieces of a message. */
#include "proxy/message.h"

#include <stdlib.h>

#include "proxy/members.h"
#include "shared/json_text.h"
#include "shared/limits.h"
#include "shared/mem.h"

/* The texts come first. */
enum {
	ROLE = TEXT_COUNT,
	TOOL_CALLS,
	FUNCTION_CALL,
	MEMBERS,
};

static const struct member members[MEMBERS] = {
	[TEXT_CONTENT] = { "content", JSON_STRING, JSON_ARRAY },
	[TEXT_REASONING] = { "reasoning", JSON_STRING, JSON_NONE },
	[TEXT_REASONING_CONTENT] = { "reasoning_content", JSON_STRING,
				     JSON_NONE },
	[TEXT_REFUSAL] = { "refusal", JSON_STRING, JSON_NONE },
	[ROLE] = { "role", JSON_STRING, JSON_NONE },
	[TOOL_CALLS] = { "tool_calls", JSON_ARRAY, JSON_NONE },
	[FUNCTION_CALL] = { "function_call", JSON_OBJECT, JSON_NONE },
};

/* What is called, and the name of what it is given. */
static const struct {
	const char *member, *text;
} kinds[CALL_KINDS] = {
	[CALL_FUNCTION] = { "function", "arguments" },
	[CALL_CUSTOM] = { "custom", "input" },
};

static void called_init(struct called *called)
{
	*called = (struct called){ .given = false };
	buf_init(&called->name, LIMIT_TURN_PART);
	buf_init(&called->text, LIMIT_TURN_PART);
}

static void called_release(struct called *called)
{
	buf_release(&called->name);
	buf_release(&called->text);
}

void message_init(struct message *message)
{
	*message = (struct message){ .call_count = 0 };
	buf_init(&message->role, LIMIT_TURN_PART);
	for (size_t i = 0; i < TEXT_COUNT; i++)
		buf_init(&message->text[i], LIMIT_TURN_PART);
	buf_init(&message->parts, LIMIT_TURN_PART);
	called_init(&message->function_call);
	buf_init(&message->unjoined, LIMIT_TURN_PART);
}

static void tool_call_release(struct tool_call *call)
{
	buf_release(&call->id);
	buf_release(&call->type);
	for (size_t i = 0; i < CALL_KINDS; i++)
		called_release(&call->called[i]);
	buf_release(&call->unjoined);
}

void message_release(struct message *message)
{
	buf_release(&message->role);
	for (size_t i = 0; i < TEXT_COUNT; i++)
		buf_release(&message->text[i]);
	buf_release(&message->parts);
	for (size_t i = 0; i < message->call_count; i++)
		tool_call_release(&message->calls[i]);
	free(message->calls);
	called_release(&message->function_call);
	buf_release(&message->unjoined);
}

/* Keep the first value that says something. */
static bool set_once(struct buf *buf, struct json_value value,
		     struct error *err)
{
	if (value.type != JSON_STRING || buf->len > SPAN("\"\"").len)
		return true;
	buf_clear(buf);
	return buf_add(buf, value.text, err);
}

/* The text so far becomes a part, before others. */
static bool end_text_part(struct message *message, struct error *err)
{
	struct buf *text = &message->text[TEXT_CONTENT];

	if (!text->len)
		return true;
	if (!list_add(&message->parts, SPAN("{\"type\":\"text\",\"text\":\""),
		      err) ||
	    !buf_add(&message->parts, buf_span(text), err) ||
	    !buf_add(&message->parts, SPAN("\"}"), err))
		return false;
	buf_clear(text);
	return true;
}

/* How parts are to be joined no API says: each stays as it came. */
static bool add_parts(struct message *message, struct json_value list,
		      bool *text, struct error *err)
{
	struct json_value part;
	struct json_cursor c;

	json_open(&c, list.text);
	json_enter_array(&c);
	while (json_next_item(&c) && json_read(&c, &part)) {
		*text = true;
		if (!end_text_part(message, err) ||
		    !list_add(&message->parts, part.text, err))
			return false;
	}
	return true;
}

static bool add_text(struct message *message, enum message_text which,
		     struct json_value value, bool *text, struct error *err)
{
	struct span inside;

	if (value.type == JSON_ARRAY)
		return add_parts(message, value, text, err);
	if (value.type != JSON_STRING)
		return true;
	inside = json_inside(value);
	message->text_given[which] = true;
	*text |= inside.len > 0;
	return buf_add(&message->text[which], inside, err);
}

/* Add an object `member`, with a name and what kinds[] says. */
static bool add_called(struct called *called, struct json_value object,
		       const char *member, enum call_kind kind,
		       struct buf *unjoined, struct error *err)
{
	enum { NAME, TEXT, COUNT };
	const struct member known[COUNT] = {
		{ "name", JSON_STRING, JSON_NONE },
		{ kinds[kind].text, JSON_STRING, JSON_NONE },
	};
	struct json_value v[COUNT];

	if (object.type != JSON_OBJECT)
		return true;
	called->given = true;
	return members_pick(object.text, known, v, COUNT, unjoined, member,
			    err) &&
	       set_once(&called->name, v[NAME], err) &&
	       (v[TEXT].type != JSON_STRING ||
		buf_add(&called->text, json_inside(v[TEXT]), err));
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
	for (size_t i = 0; i < CALL_KINDS; i++)
		called_init(&call->called[i]);
	buf_init(&call->unjoined, LIMIT_TURN_PART);
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
	enum { INDEX, ID, TYPE, KINDS, COUNT = KINDS + CALL_KINDS };
	static const struct member known[COUNT] = {
		[INDEX] = { "index", JSON_NUMBER, JSON_NONE },
		[ID] = { "id", JSON_STRING, JSON_NONE },
		[TYPE] = { "type", JSON_STRING, JSON_NONE },
		[KINDS +
			CALL_FUNCTION] = { "function", JSON_OBJECT, JSON_NONE },
		[KINDS + CALL_CUSTOM] = { "custom", JSON_OBJECT, JSON_NONE },
	};
	static const char *const names[] = { "index", "id" };
	struct json_value v[COUNT];
	struct tool_call *call;

	if (!json_pick(piece, names, v, ARRAY_LEN(names)))
		return true;
	call = call_of_piece(message, v[INDEX], v[ID], err);
	if (!call ||
	    !members_pick(piece, known, v, COUNT, &call->unjoined, NULL, err))
		return false;
	for (enum call_kind i = 0; i < CALL_KINDS; i++)
		if (!add_called(&call->called[i], v[KINDS + i], kinds[i].member,
				i, &call->unjoined, err))
			return false;
	return set_once(&call->id, v[ID], err) &&
	       set_once(&call->type, v[TYPE], err);
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
	struct json_value v[MEMBERS];

	if (!members_pick(object, members, v, MEMBERS, &message->unjoined, NULL,
			  err))
		return false;
	for (enum message_text i = 0; i < TEXT_COUNT; i++)
		if (!add_text(message, i, v[i], text, err))
			return false;
	*text |= v[FUNCTION_CALL].type == JSON_OBJECT;
	return set_once(&message->role, v[ROLE], err) &&
	       add_called(&message->function_call, v[FUNCTION_CALL],
			  "function_call", CALL_FUNCTION, &message->unjoined,
			  err) &&
	       add_calls(message, v[TOOL_CALLS], text, err);
}

static void write_called(const struct called *called, const char *member,
			 enum call_kind kind, struct json_writer *jw)
{
	jw_key(jw, member);
	jw_object_begin(jw);
	jw_key(jw, "name");
	jw_raw(jw, buf_span(&called->name));
	jw_key(jw, kinds[kind].text);
	jw_wrapped(jw, "\"", buf_span(&called->text), "\"");
	jw_object_end(jw);
}

static void write_call(const struct tool_call *call, struct json_writer *jw)
{
	bool custom = call->called[CALL_CUSTOM].given;

	jw_object_begin(jw);
	jw_key(jw, "id");
	jw_raw(jw, buf_span(&call->id));
	jw_key(jw, "type");
	if (call->type.len)
		jw_raw(jw, buf_span(&call->type));
	else
		jw_cstring(jw,
			   kinds[custom ? CALL_CUSTOM : CALL_FUNCTION].member);
	for (enum call_kind i = 0; i < CALL_KINDS; i++)
		if (call->called[i].given ||
		    (i == CALL_FUNCTION && !call->type.len && !custom))
			write_called(&call->called[i], kinds[i].member, i, jw);
	list_write(&call->unjoined, "unjoined", jw);
	jw_object_end(jw);
}

static void write_parts(const struct message *message, struct span text,
			struct json_writer *jw)
{
	jw_array_begin(jw);
	jw_raw(jw, span_after(buf_span(&message->parts), 1));
	if (text.len) {
		jw_object_begin(jw);
		jw_key(jw, "type");
		jw_cstring(jw, "text");
		jw_key(jw, "text");
		jw_wrapped(jw, "\"", text, "\"");
		jw_object_end(jw);
	}
	jw_array_end(jw);
}

static void write_content(const struct message *message, struct json_writer *jw)
{
	struct span text = buf_span(&message->text[TEXT_CONTENT]);

	jw_key(jw, "content");
	if (message->parts.len)
		write_parts(message, text, jw);
	else if (message->text_given[TEXT_CONTENT])
		jw_wrapped(jw, "\"", text, "\"");
	else
		jw_null(jw);
}

void message_write(const struct message *message, struct json_writer *jw)
{
	jw_object_begin(jw);
	jw_key(jw, "role");
	jw_raw(jw, message->role.len ? buf_span(&message->role)
				     : SPAN("\"assistant\""));
	write_content(message, jw);
	for (size_t i = TEXT_CONTENT + 1; i < TEXT_COUNT; i++) {
		if (!message->text_given[i])
			continue;
		jw_key(jw, members[i].name);
		jw_wrapped(jw, "\"", buf_span(&message->text[i]), "\"");
	}
	if (message->call_count) {
		jw_key(jw, "tool_calls");
		jw_array_begin(jw);
		for (size_t i = 0; i < message->call_count; i++)
			write_call(&message->calls[i], jw);
		jw_array_end(jw);
	}
	if (message->function_call.given)
		write_called(&message->function_call, "function_call",
			     CALL_FUNCTION, jw);
	list_write(&message->unjoined, "unjoined", jw);
	jw_object_end(jw);
}
