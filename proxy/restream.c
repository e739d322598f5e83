/* A whole answer as events. */
#include "proxy/restream.h"

#include "shared/json_scan.h"
#include "shared/json_text.h"
#include "shared/json_write.h"
#include "shared/sse.h"

/* The outermost object's own members, but those that each event has anew. */
static void write_head(struct json_writer *jw, struct span whole)
{
	struct json_value value;
	struct json_cursor c;
	struct span key;

	jw_object_begin(jw);
	json_open(&c, whole);
	json_enter_object(&c);
	while (json_next_key(&c, &key) && json_read(&c, &value)) {
		if (json_key_is(key, "choices") || json_key_is(key, "usage"))
			continue;
		jw_key_raw(jw, key);
		if (json_key_is(key, "object"))
			jw_cstring(jw, "chat.completion.chunk");
		else
			jw_raw_on_one_line(jw, value.text);
	}
}

/* The calls of a delta are numbered, those of a message are not. */
static void write_calls(struct json_writer *jw, struct span calls)
{
	struct json_value call, value;
	struct json_cursor c, members;
	uint64_t index = 0;
	struct span key;

	jw_array_begin(jw);
	json_open(&c, calls);
	json_enter_array(&c);
	while (json_next_item(&c) && json_read(&c, &call)) {
		jw_object_begin(jw);
		jw_key(jw, "index");
		jw_u64(jw, index++);
		json_open(&members, call.text);
		json_enter_object(&members);
		while (json_next_key(&members, &key) &&
		       json_read(&members, &value)) {
			if (json_key_is(key, "index"))
				continue;
			jw_key_raw(jw, key);
			jw_raw_on_one_line(jw, value.text);
		}
		jw_object_end(jw);
	}
	jw_array_end(jw);
}

static void write_delta(struct json_writer *jw, struct span message)
{
	struct json_value value;
	struct json_cursor c;
	struct span key;

	jw_object_begin(jw);
	json_open(&c, message);
	json_enter_object(&c);
	while (json_next_key(&c, &key) && json_read(&c, &value)) {
		/* An empty list of calls is none; opencode minds null. */
		if (json_key_is(key, "tool_calls") && value.type != JSON_ARRAY)
			continue;
		jw_key_raw(jw, key);
		if (json_key_is(key, "tool_calls"))
			write_calls(jw, value.text);
		else
			jw_raw_on_one_line(jw, value.text);
	}
	jw_object_end(jw);
}

static bool begin_event(struct json_writer *jw, struct span whole,
			struct buf *out, struct error *err)
{
	if (!buf_add(out, SPAN("data: "), err))
		return false;
	jw_init(jw, out);
	write_head(jw, whole);
	jw_key(jw, "choices");
	jw_array_begin(jw);
	return true;
}

static bool end_event(struct json_writer *jw, struct buf *out,
		      struct error *err)
{
	jw_object_end(jw);
	return jw_finish(jw, err) && buf_add(out, SPAN("\n\n"), err);
}

/* One event of a choice: its message, or how it ended. */
static bool add_choice(struct span whole, struct span choice, uint64_t place,
		       bool last, struct buf *out, struct error *err)
{
	struct json_value message, index, value;
	struct json_writer jw;
	struct json_cursor c;
	struct span key;

	if (!json_find(choice, "message", &message) ||
	    !begin_event(&jw, whole, out, err))
		return false;
	jw_object_begin(&jw);
	if (!json_find(choice, "index", &index)) {
		jw_key(&jw, "index");
		jw_u64(&jw, place);
	}
	json_open(&c, choice);
	json_enter_object(&c);
	while (json_next_key(&c, &key) && json_read(&c, &value)) {
		bool is_end = json_key_is(key, "finish_reason") ||
			      json_key_is(key, "stop_reason") ||
			      json_key_is(key, "matched_stop");

		if (json_key_is(key, "message")) {
			jw_key(&jw, "delta");
			write_delta(&jw, last ? SPAN("{}") : message.text);
			continue;
		}
		jw_key_raw(&jw, key);
		jw_raw_on_one_line(&jw,
				   is_end && !last ? SPAN_NONE : value.text);
	}
	jw_object_end(&jw);
	jw_array_end(&jw);
	return end_event(&jw, out, err);
}

static bool add_choices(struct span whole, bool last, struct buf *out,
			struct error *err)
{
	struct json_value choices, choice;
	struct json_cursor c;
	uint64_t place = 0;

	if (!json_find(whole, "choices", &choices))
		return error_set(err, ERROR_MALFORMED,
				 "the answer has no choices");
	json_open(&c, choices.text);
	json_enter_array(&c);
	while (json_next_item(&c) && json_read(&c, &choice))
		if (!add_choice(whole, choice.text, place++, last, out, err))
			return false;
	return true;
}

static bool add_usage(struct span whole, struct buf *out, struct error *err)
{
	struct json_value usage;
	struct json_writer jw;

	if (!json_find(whole, "usage", &usage))
		return true;
	if (!begin_event(&jw, whole, out, err))
		return false;
	jw_array_end(&jw);
	jw_key(&jw, "usage");
	jw_raw_on_one_line(&jw, usage.text);
	return end_event(&jw, out, err);
}

bool restream(struct span whole, bool usage, struct buf *out, struct error *err)
{
	return add_choices(whole, false, out, err) &&
	       add_choices(whole, true, out, err) &&
	       (!usage || add_usage(whole, out, err)) &&
	       sse_write_data(out, SPAN("[DONE]"), err);
}
