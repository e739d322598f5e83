/* Cutting a message into deltas. */
#include "controller/message_parts.h"

#include <stdlib.h>
#include <string.h>

#include "shared/json_scan.h"
#include "shared/json_text.h"
#include "shared/mem.h"

enum part_kind { PART_TEXT, PART_CALL };

struct message_part {
	enum part_kind kind;
	const char *name;     /* of the delta's member, of a text */
	uint64_t index;       /* of a tool call */
	struct span id, call; /* of a tool call: JSON strings */
	struct span text;     /* the inside of a JSON string */
	size_t start;         /* in all parts' texts */
	size_t written;       /* bytes of `text` */
	bool begun;
};

static void add_part(struct message_parts *parts, struct message_part part)
{
	part.start = parts->length;
	parts->length += part.text.len;
	parts->list = xrealloc_array(parts->list, parts->count + 1,
				     sizeof(*parts->list));
	parts->list[parts->count++] = part;
}

static void add_text(struct message_parts *parts, const char *name,
		     struct json_value value)
{
	if (value.type == JSON_STRING && json_inside(value).len)
		add_part(parts, (struct message_part){
					.kind = PART_TEXT,
					.name = name,
					.text = json_inside(value),
				});
}

static void add_call(struct message_parts *parts, uint64_t index,
		     struct span call)
{
	enum { ID, FUNCTION, COUNT };
	enum { NAME, ARGUMENTS, FUNCTION_COUNT };
	static const char *const names[COUNT] = { "id", "function" };
	static const char *const function_names[FUNCTION_COUNT] = {
		"name", "arguments"
	};
	struct json_value v[COUNT], f[FUNCTION_COUNT];

	json_pick(call, names, v, COUNT);
	json_pick(v[FUNCTION].text, function_names, f, FUNCTION_COUNT);
	add_part(parts, (struct message_part){
				.kind = PART_CALL,
				.index = index,
				.id = v[ID].text,
				.call = f[NAME].text,
				.text = f[ARGUMENTS].type == JSON_STRING
						? json_inside(f[ARGUMENTS])
						: SPAN(""),
			});
}

void message_parts_init(struct message_parts *parts, struct span message)
{
	enum { REASONING, REASONING_CONTENT, CONTENT, CALLS, COUNT };
	static const char *const names[COUNT] = { "reasoning",
						  "reasoning_content",
						  "content", "tool_calls" };
	struct json_value v[COUNT], call;
	struct json_cursor c;
	uint64_t index = 0;

	*parts = (struct message_parts){ 0 };
	json_pick(message, names, v, COUNT);
	for (size_t i = 0; i < CALLS; i++)
		add_text(parts, names[i], v[i]);
	if (v[CALLS].type != JSON_ARRAY)
		return;
	json_open(&c, v[CALLS].text);
	json_enter_array(&c);
	while (json_next_item(&c) && json_read(&c, &call))
		add_call(parts, index++, call.text);
}

void message_parts_release(struct message_parts *parts)
{
	free(parts->list);
	*parts = (struct message_parts){ 0 };
}

/* Bytes of an escape at `pos`; a surrogate pair is one. */
static size_t escape_length(struct span text, size_t pos)
{
	const char *e = text.data + pos;
	bool high;

	if (e[1] != 'u')
		return 2;
	high = (e[2] | 0x20) == 'd' && strchr("89abAB", e[3]);
	return high && pos + 12 <= text.len ? 12 : 6;
}

/* The first boundary not before `at`, from the boundary `pos` on. */
static size_t boundary(struct span text, size_t pos, size_t at)
{
	while (pos < at && pos < text.len) {
		if (text.data[pos] == '\\') {
			pos += escape_length(text, pos);
			continue;
		}
		do
			pos++;
		while (pos < text.len &&
		       ((unsigned char)text.data[pos] & 0xC0) == 0x80);
	}
	return pos < text.len ? pos : text.len;
}

/* What of a part comes before `to`; it counts as written. */
static struct span take(struct message_part *part, size_t to)
{
	size_t from = part->written;
	size_t at = to > part->start ? to - part->start : 0;

	part->written = boundary(part->text, from, at);
	return span_from(part->text.data + from, part->written - from);
}

static void write_call_piece(struct json_writer *jw, struct message_part *part,
			     struct span text)
{
	jw_object_begin(jw);
	jw_key(jw, "index");
	jw_u64(jw, part->index);
	if (!part->begun) {
		jw_key(jw, "id");
		jw_raw(jw, part->id);
		jw_key(jw, "type");
		jw_cstring(jw, "function");
	}
	jw_key(jw, "function");
	jw_object_begin(jw);
	if (!part->begun) {
		jw_key(jw, "name");
		jw_raw(jw, part->call);
	}
	jw_key(jw, "arguments");
	jw_wrapped(jw, "\"", text, "\"");
	jw_object_end(jw);
	jw_object_end(jw);
	part->begun = true;
}

static void write_texts(struct message_parts *parts, struct json_writer *jw,
			size_t to)
{
	for (size_t i = 0; i < parts->count; i++) {
		struct message_part *part = &parts->list[i];
		struct span piece;

		if (part->kind != PART_TEXT)
			continue;
		piece = take(part, to);
		if (!piece.len)
			continue;
		jw_key(jw, part->name);
		jw_wrapped(jw, "\"", piece, "\"");
	}
}

static void write_calls(struct message_parts *parts, struct json_writer *jw,
			size_t to, bool last)
{
	bool open = false;

	for (size_t i = 0; i < parts->count; i++) {
		struct message_part *part = &parts->list[i];
		struct span piece;

		if (part->kind != PART_CALL)
			continue;
		piece = take(part, to);
		if (!piece.len && (part->begun || !last))
			continue;
		if (!open) {
			jw_key(jw, "tool_calls");
			jw_array_begin(jw);
			open = true;
		}
		write_call_piece(jw, part, piece);
	}
	if (open)
		jw_array_end(jw);
}

void message_parts_write(struct message_parts *parts, struct json_writer *jw,
			 size_t to, bool last)
{
	if (last)
		to = parts->length;
	jw_object_begin(jw);
	write_texts(parts, jw, to);
	write_calls(parts, jw, to, last);
	jw_object_end(jw);
}
