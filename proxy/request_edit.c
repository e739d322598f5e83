/* The members of a request, found in one walk, and edits to them. */
#include "proxy/request_edit.h"

#include <stdio.h>
#include <string.h>

#include "shared/json_text.h"

static const char *const member_names[REQ_SAMPLING] = {
	[REQ_STREAM] = "stream",
	[REQ_STREAM_OPTIONS] = "stream_options",
	[REQ_LOGPROBS] = "logprobs",
	[REQ_TOP_LOGPROBS] = "top_logprobs",
	[REQ_RETURN_TOKEN_IDS] = "return_token_ids",
	[REQ_INPUT_IDS_IN_SGLEXT] = "return_input_ids_in_sglext",
	[REQ_OUTPUT_IDS_IN_SGLEXT] = "return_output_ids_in_sglext",
	[REQ_N_PROBS] = "n_probs",
	[REQ_TOOLS] = "tools",
	[REQ_MODEL] = "model",
	[REQ_MAX_TOKENS] = "max_tokens",
	[REQ_MAX_COMPLETION_TOKENS] = "max_completion_tokens",
	[REQ_CHAT_TEMPLATE_KWARGS] = "chat_template_kwargs",
};

const char *request_member_name(enum request_member m)
{
	return m < REQ_SAMPLING ? member_names[m]
				: sampling_names[m - REQ_SAMPLING];
}

enum request_member request_member_of_key(struct span key)
{
	enum request_member m = 0;

	while (m < REQ_COUNT && !json_key_is(key, request_member_name(m)))
		m++;
	return m;
}

bool edit_begin(struct request_edit *e, struct span body,
		const struct json_index *index, struct splice_list *splices,
		struct buf *texts)
{
	struct json_cursor c;
	struct span key;

	*e = (struct request_edit){
		.splices = splices,
		.texts = texts,
		.body = body,
		.index = index,
	};
	json_open_indexed(&c, body, index);
	if (!json_enter_object(&c))
		return false;
	e->inside = c.pos;
	while (json_next_key(&c, &key)) {
		enum request_member m = request_member_of_key(key);
		struct json_value value;

		e->has_members = true;
		if (json_read(&c, &value) && m < REQ_COUNT)
			e->members[m] = (struct found_member){ key, value };
	}
	return json_close(&c);
}

bool edit_is_set(const struct request_edit *e, enum request_member m)
{
	enum json_type type = e->members[m].value.type;

	return type != JSON_NONE && type != JSON_NULL;
}

size_t edit_offset(const struct request_edit *e, struct span part)
{
	return (size_t)(part.data - e->body.data);
}

/*
 * Keep a text for the splices.  They borrow it, so the buffer must not move:
 * it was given its room beforehand.
 */
struct span edit_keep(struct request_edit *e, const char *before,
		      struct span text, const char *after)
{
	struct buf *texts = e->texts;
	size_t start = texts->len;
	size_t need = strlen(before) + text.len + strlen(after);
	struct error err;

	e->out_of_room |= need >= texts->alloc - start;
	if (e->out_of_room || !buf_add(texts, span_of(before), &err) ||
	    !buf_add(texts, text, &err) ||
	    !buf_add(texts, span_of(after), &err))
		return SPAN("");
	return span_from(texts->data + start, need);
}

/* A new member goes to the front, where its comma needs no search. */
static void insert_member(struct request_edit *e, enum request_member m,
			  struct span value)
{
	const char *comma = e->inserted && !e->has_members ? "," : "";
	char name[64];

	snprintf(name, sizeof(name), "%s\"%s\":", comma,
		 request_member_name(m));
	splice_insert(e->splices, e->inside,
		      edit_keep(e, name, value, e->has_members ? "," : ""));
	e->inserted = true;
}

void edit_replace(struct request_edit *e, struct json_value old,
		  struct span value)
{
	if (span_equals(old.text, value))
		return;
	splice_replace(e->splices, edit_offset(e, old.text), old.text.len,
		       edit_keep(e, "", value, ""));
}

void edit_set(struct request_edit *e, enum request_member m, struct span value)
{
	if (e->members[m].value.type == JSON_NONE)
		insert_member(e, m, value);
	else
		edit_replace(e, e->members[m].value, value);
}

bool edit_is_true(const struct request_edit *e, enum request_member m)
{
	return e->members[m].value.type == JSON_TRUE;
}

bool edit_set_in_object(struct request_edit *e, enum request_member m,
			const char *key, const char *value)
{
	struct json_value object = e->members[m].value;
	struct json_value old;
	char quoted[64];
	bool empty;

	snprintf(quoted, sizeof(quoted), "\"%s\":%s", key, value);
	if (object.type != JSON_OBJECT) {
		edit_set(e, m, edit_keep(e, "{", span_of(quoted), "}"));
		return true;
	}
	if (json_find(object.text, key, &old)) {
		if (span_is(old.text, value))
			return false;
		edit_replace(e, old, span_of(value));
		return true;
	}
	empty = !span_trim(span_from(object.text.data + 1, object.text.len - 2))
			 .len;
	splice_insert(e->splices, edit_offset(e, object.text) + 1,
		      edit_keep(e, quoted, span_of(empty ? "" : ","), ""));
	return true;
}
