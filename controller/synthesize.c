/* Answers from records. */
#include "controller/synthesize.h"

#include "shared/json_text.h"
#include "shared/json_write.h"

struct asked asked_by(struct span request)
{
	enum { STREAM, LOGPROBS, TOKEN_IDS, OPTIONS, COUNT };
	static const char *const names[COUNT] = { "stream", "logprobs",
						  "return_token_ids",
						  "stream_options" };
	struct json_value v[COUNT], usage = JSON_VALUE_NONE;

	json_pick(request, names, v, COUNT);
	json_find(v[OPTIONS].text, "include_usage", &usage);
	return (struct asked){
		.stream = v[STREAM].type == JSON_TRUE,
		.logprobs = v[LOGPROBS].type == JSON_TRUE,
		.token_ids = v[TOKEN_IDS].type == JSON_TRUE,
		.usage = usage.type == JSON_TRUE,
	};
}

static bool first_choice(const struct turn *turn, struct json_value *choice)
{
	struct json_value choices;
	struct json_cursor c;

	if (!json_find(turn->response, "choices", &choices))
		return false;
	json_open(&c, choices.text);
	json_enter_array(&c);
	return json_next_item(&c) && json_read(&c, choice);
}

static bool recorded_message(const struct turn *turn,
			     struct json_value *message)
{
	struct json_value choice;

	return first_choice(turn, &choice) &&
	       json_find(choice.text, "message", message) &&
	       message->type == JSON_OBJECT;
}

static void open_list(struct json_cursor *c, struct span list)
{
	json_open(c, list.len ? list : SPAN("[]"));
	json_enter_array(c);
}

static uint64_t token_weight(struct json_value token)
{
	return token.type == JSON_STRING ? json_inside(token).len : 0;
}

static void weigh_tokens(struct synthesis *s)
{
	struct json_cursor c;
	struct json_value token;

	open_list(&c, s->turn->completion_tokens);
	while (json_next_item(&c) && json_read(&c, &token))
		s->weight_total += token_weight(token);
}

static uint64_t count_items(struct span list)
{
	struct json_cursor c;
	uint64_t count = 0;

	open_list(&c, list);
	for (; json_next_item(&c); count++)
		json_skip(&c);
	return count;
}

bool synthesize_begin(struct synthesis *s, const struct turn *turn,
		      const struct asked *asked, struct error *err)
{
	struct json_value message;

	*s = (struct synthesis){ .turn = turn, .asked = *asked };
	if (!recorded_message(turn, &message))
		return error_set(err, ERROR_MALFORMED,
				 "turn %llu holds no message",
				 (unsigned long long)turn->number);
	message_parts_init(&s->message, message.text);
	open_list(&s->chunks, turn->chunk_tokens);
	open_list(&s->entries, turn->logprobs);
	open_list(&s->ids, turn->completion_token_ids);
	open_list(&s->tokens, turn->completion_tokens);
	weigh_tokens(s);
	s->tokens_left = count_items(turn->completion_token_ids);
	if (!s->tokens_left)
		s->tokens_left = count_items(turn->logprobs);
	return true;
}

void synthesize_release(struct synthesis *s)
{
	message_parts_release(&s->message);
	*s = (struct synthesis){ 0 };
}

static void write_head(struct json_writer *jw, const struct turn *turn,
		       const char *object)
{
	struct json_value id = JSON_VALUE_NONE;

	json_find(turn->response, "id", &id);
	jw_object_begin(jw);
	jw_key(jw, "id");
	jw_raw(jw, id.text.len ? id.text : SPAN("\"chatcmpl-replay\""));
	jw_key(jw, "object");
	jw_cstring(jw, object);
	jw_key(jw, "created");
	jw_u64(jw, turn->timestamp_us / 1000000);
	jw_key(jw, "model");
	jw_raw(jw, turn->upstream_model.len ? turn->upstream_model
					    : SPAN("\"replay\""));
	jw_key(jw, "choices");
}

/* The next `count` items of a recorded list, as an array. */
static void write_items(struct json_writer *jw, struct json_cursor *list,
			uint64_t count)
{
	struct json_value item;

	jw_array_begin(jw);
	for (uint64_t i = 0;
	     i < count && json_next_item(list) && json_read(list, &item); i++)
		jw_raw(jw, item.text);
	jw_array_end(jw);
}

static void write_tokens(struct synthesis *s, struct json_writer *jw,
			 uint64_t count, bool last)
{
	jw_key(jw, "logprobs");
	if (s->asked.logprobs && s->turn->logprobs.len && count) {
		jw_object_begin(jw);
		jw_key(jw, "content");
		write_items(jw, &s->entries, count);
		jw_object_end(jw);
	} else {
		jw_null(jw);
	}
	jw_key(jw, "finish_reason");
	jw_raw(jw, last ? s->turn->finish_reason : SPAN_NONE);
	jw_key(jw, "token_ids");
	if (s->asked.token_ids && s->turn->completion_token_ids.len && count)
		write_items(jw, &s->ids, count);
	else
		jw_null(jw);
}

static void begin_delta(const struct synthesis *s, struct json_writer *jw)
{
	write_head(jw, s->turn, "chat.completion.chunk");
	jw_array_begin(jw);
	jw_object_begin(jw);
	jw_key(jw, "index");
	jw_u64(jw, 0);
	jw_key(jw, "delta");
}

static void end_choice(struct json_writer *jw)
{
	jw_object_end(jw);
	jw_array_end(jw);
}

static void write_first(const struct synthesis *s, struct json_writer *jw)
{
	begin_delta(s, jw);
	jw_raw(jw, SPAN("{\"role\":\"assistant\",\"content\":\"\"}"));
	jw_key(jw, "logprobs");
	jw_null(jw);
	jw_key(jw, "finish_reason");
	jw_null(jw);
	end_choice(jw);
	jw_key(jw, "prompt_token_ids");
	jw_raw(jw, s->asked.token_ids ? s->turn->prompt_token_ids : SPAN_NONE);
	jw_object_end(jw);
}

/* The message up to `to`, and so many tokens. */
static void write_chunk(struct synthesis *s, struct json_writer *jw,
			uint64_t tokens, size_t to, bool last)
{
	begin_delta(s, jw);
	message_parts_write(&s->message, jw, to, last);
	write_tokens(s, jw, tokens, last);
	end_choice(jw);
	jw_object_end(jw);
}

static void write_usage_event(struct synthesis *s, struct json_writer *jw)
{
	write_head(jw, s->turn, "chat.completion.chunk");
	jw_array_begin(jw);
	jw_array_end(jw);
	jw_key(jw, "usage");
	jw_raw(jw, s->turn->usage);
	jw_object_end(jw);
}

/* The next recorded chunk's number of tokens; false: all chunks are out. */
static bool next_chunk(struct synthesis *s, uint64_t *tokens)
{
	struct json_value value;

	*tokens = 0;
	if (!json_next_item(&s->chunks) || !json_read(&s->chunks, &value))
		return false;
	json_to_u64(value, tokens);
	return true;
}

/* Where the message is to stand after so many tokens more. */
static size_t place_after(struct synthesis *s, uint64_t tokens)
{
	struct json_value token;

	for (uint64_t i = 0; i < tokens && json_next_item(&s->tokens) &&
			     json_read(&s->tokens, &token);
	     i++)
		s->weight_sent += token_weight(token);
	if (!s->weight_total)
		return 0;
	return (size_t)((double)s->message.length * (double)s->weight_sent /
			(double)s->weight_total);
}

bool synthesize_next(struct synthesis *s, struct buf *out, uint64_t *tokens,
		     struct error *err)
{
	struct json_writer jw;

	*tokens = 0;
	if (!buf_add(out, SPAN("data: "), err))
		return false;
	jw_init(&jw, out);
	if (!s->begun) {
		s->begun = true;
		write_first(s, &jw);
	} else if (next_chunk(s, tokens)) {
		s->tokens_left -=
			*tokens < s->tokens_left ? *tokens : s->tokens_left;
		write_chunk(s, &jw, *tokens, place_after(s, *tokens), false);
	} else if (!s->finished) {
		s->finished = true;
		*tokens = s->tokens_left;
		write_chunk(s, &jw, *tokens, s->message.length, true);
	} else if (s->asked.usage) {
		s->asked.usage = false;
		write_usage_event(s, &jw);
	} else {
		s->done = true;
		return buf_add(out, SPAN("[DONE]\n\n"), err);
	}
	return jw_finish(&jw, err) && buf_add(out, SPAN("\n\n"), err);
}

bool synthesize_whole(const struct turn *turn, const struct asked *asked,
		      struct buf *out, struct error *err)
{
	struct json_value message;
	struct json_writer jw;

	if (!recorded_message(turn, &message))
		return error_set(err, ERROR_MALFORMED,
				 "turn %llu holds no message",
				 (unsigned long long)turn->number);
	jw_init(&jw, out);
	write_head(&jw, turn, "chat.completion");
	jw_array_begin(&jw);
	jw_object_begin(&jw);
	jw_key(&jw, "index");
	jw_u64(&jw, 0);
	jw_key(&jw, "message");
	jw_raw(&jw, message.text);
	jw_key(&jw, "logprobs");
	if (asked->logprobs && turn->logprobs.len)
		jw_wrapped(&jw, "{\"content\":", turn->logprobs, "}");
	else
		jw_null(&jw);
	jw_key(&jw, "finish_reason");
	jw_raw(&jw, turn->finish_reason);
	jw_key(&jw, "token_ids");
	jw_raw(&jw, asked->token_ids ? turn->completion_token_ids : SPAN_NONE);
	end_choice(&jw);
	jw_key(&jw, "usage");
	jw_raw(&jw, turn->usage);
	jw_key(&jw, "prompt_token_ids");
	jw_raw(&jw, asked->token_ids ? turn->prompt_token_ids : SPAN_NONE);
	jw_object_end(&jw);
	return jw_finish(&jw, err);
}
