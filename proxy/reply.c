/* Error objects and the final answer. */
#include "proxy/reply.h"

#include "shared/clock.h"
#include "shared/json_write.h"
#include "shared/sse.h"

#define SYNTHETIC_ID    "chatcmpl-octap-synthetic"
#define SYNTHETIC_MODEL "octap-synthetic"
#define SYNTHETIC_TEXT \
	"No further model calls are allowed for this task. I stop here."

static const struct {
	unsigned status;
	const char *type;
	const char *message;
} errors[] = {
	[REPLY_BAD_REQUEST] = { 400, "invalid_request_error",
				"The request body is not a JSON object, or "
				"nested too deep." },
	[REPLY_UNAUTHORIZED] = { 401, "invalid_request_error",
				 "The API key is missing or wrong." },
	[REPLY_NOT_RECORDED] = { 403, "invalid_request_error",
				 "Model calls cannot be recorded, so no more "
				 "are made." },
	[REPLY_STOPPING] = { 403, "invalid_request_error",
			     "No more model calls are made." },
	[REPLY_NOT_FOUND] = { 404, "invalid_request_error",
			      "There is nothing at this path." },
	[REPLY_UNREACHABLE] = { 502, "upstream_error",
				"The model server could not be reached." },
	[REPLY_BAD_ANSWER] = { 502, "upstream_error",
			       "The model server's answer is unusable." },
	[REPLY_UPSTREAM_SILENT] = { 504, "upstream_error",
				    "The model server sent nothing for too "
				    "long." },
	[REPLY_UNFINISHED] = { 200, "invalid_request_error",
			       "The model's answer has no finish reason." },
	[REPLY_NOT_A_STREAM] = { 200, "invalid_request_error",
				 "The model server did not answer with a "
				 "stream." },
};

unsigned reply_error_status(enum reply_error which)
{
	return errors[which].status;
}

bool reply_error_body(enum reply_error which, struct buf *out,
		      struct error *err)
{
	struct json_writer jw;

	jw_init(&jw, out);
	jw_object_begin(&jw);
	jw_key(&jw, "error");
	jw_object_begin(&jw);
	jw_key(&jw, "message");
	jw_cstring(&jw, errors[which].message);
	jw_key(&jw, "type");
	jw_cstring(&jw, errors[which].type);
	jw_key(&jw, "param");
	jw_null(&jw);
	jw_key(&jw, "code");
	jw_null(&jw);
	jw_object_end(&jw);
	jw_object_end(&jw);
	return jw_finish(&jw, err);
}

bool reply_error_event(enum reply_error which, struct buf *out,
		       struct error *err)
{
	return buf_add(out, SPAN("data: "), err) &&
	       reply_error_body(which, out, err) &&
	       buf_add(out, SPAN("\n\n"), err);
}

static void write_head(struct json_writer *jw, const char *object)
{
	jw_object_begin(jw);
	jw_key(jw, "id");
	jw_cstring(jw, SYNTHETIC_ID);
	jw_key(jw, "object");
	jw_cstring(jw, object);
	jw_key(jw, "created");
	jw_u64(jw, clock_wall_us() / 1000000);
	jw_key(jw, "model");
	jw_cstring(jw, SYNTHETIC_MODEL);
	jw_key(jw, "choices");
	jw_array_begin(jw);
}

static void write_text(struct json_writer *jw)
{
	jw_object_begin(jw);
	jw_key(jw, "role");
	jw_cstring(jw, "assistant");
	jw_key(jw, "content");
	jw_cstring(jw, SYNTHETIC_TEXT);
	jw_object_end(jw);
}

static void write_usage(struct json_writer *jw)
{
	static const char *const names[] = { "prompt_tokens",
					     "completion_tokens",
					     "total_tokens" };

	jw_key(jw, "usage");
	jw_object_begin(jw);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		jw_key(jw, names[i]);
		jw_u64(jw, 0);
	}
	jw_object_end(jw);
}

/* The one choice; `member` is "message" or "delta". */
static void write_choice(struct json_writer *jw, const char *member,
			 bool with_text, const char *finish_reason)
{
	jw_object_begin(jw);
	jw_key(jw, "index");
	jw_u64(jw, 0);
	jw_key(jw, member);
	if (with_text) {
		write_text(jw);
	} else {
		jw_object_begin(jw);
		jw_object_end(jw);
	}
	jw_key(jw, "finish_reason");
	jw_cstring(jw, finish_reason);
	jw_object_end(jw);
}

static bool add_chunk(struct buf *out, bool with_text,
		      const char *finish_reason, struct error *err)
{
	struct json_writer jw;

	if (!buf_add(out, SPAN("data: "), err))
		return false;
	jw_init(&jw, out);
	write_head(&jw, "chat.completion.chunk");
	write_choice(&jw, "delta", with_text, finish_reason);
	jw_array_end(&jw);
	jw_object_end(&jw);
	return jw_finish(&jw, err) && buf_add(out, SPAN("\n\n"), err);
}

static bool add_usage_chunk(struct buf *out, struct error *err)
{
	struct json_writer jw;

	if (!buf_add(out, SPAN("data: "), err))
		return false;
	jw_init(&jw, out);
	write_head(&jw, "chat.completion.chunk");
	jw_array_end(&jw);
	write_usage(&jw);
	jw_object_end(&jw);
	return jw_finish(&jw, err) && buf_add(out, SPAN("\n\n"), err);
}

static bool add_whole(struct buf *out, struct error *err)
{
	struct json_writer jw;

	jw_init(&jw, out);
	write_head(&jw, "chat.completion");
	write_choice(&jw, "message", true, "stop");
	jw_array_end(&jw);
	write_usage(&jw);
	jw_object_end(&jw);
	return jw_finish(&jw, err);
}

bool reply_final_answer(bool stream, bool usage, struct buf *out,
			struct error *err)
{
	if (!stream)
		return add_whole(out, err);
	return add_chunk(out, true, NULL, err) &&
	       add_chunk(out, false, "stop", err) &&
	       (!usage || add_usage_chunk(out, err)) &&
	       sse_write_data(out, SPAN("[DONE]"), err);
}
