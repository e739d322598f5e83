/* Serving a recorded trace. */
#include "controller/replay.h"

#include <stdlib.h>
#include <string.h>

#include "controller/synthesize.h"
#include "shared/http_json.h"
#include "shared/http_server.h"
#include "shared/limits.h"
#include "shared/log.h"
#include "shared/loop.h"
#include "shared/mem.h"
#include "shared/request_kind.h"
#include "shared/trace.h"
#include "shared/turn.h"

struct recorded {
	char *line;
	struct turn turn; /* borrows from the line */
	bool given;
};

/* One answer being streamed. */
struct stream {
	struct replay *replay;
	struct stream *next, **link; /* in replay->streams */
	struct http_exchange *http;
	struct synthesis synthesis;
	struct loop_timer *timer;
};

struct replay {
	struct loop *loop;
	struct http_server *server;
	struct recorded *turns;
	size_t count;
	uint64_t token_interval_ms;
	struct stream *streams;
};

static bool add_line(struct replay *replay, struct span line, struct error *err)
{
	struct recorded *turn;
	char *copy = xstrndup(line.data, line.len);

	replay->turns = xrealloc_array(replay->turns, replay->count + 1,
				       sizeof(*replay->turns));
	turn = &replay->turns[replay->count];
	*turn = (struct recorded){ .line = copy };
	if (!turn_decode(span_from(copy, line.len), &turn->turn, err)) {
		free(copy);
		return false;
	}
	replay->count++;
	return true;
}

static int compare_turns(const void *a, const void *b)
{
	uint64_t first = ((const struct recorded *)a)->turn.number;
	uint64_t second = ((const struct recorded *)b)->turn.number;

	return (first > second) - (first < second);
}

static bool load(struct replay *replay, const char *path, struct error *err)
{
	struct trace_reader *reader = trace_open(path, err);
	enum trace_read read = TRACE_FAILED;
	struct span line;

	if (!reader)
		return false;
	while ((read = trace_next(reader, &line, err)) == TRACE_LINE)
		if (!add_line(replay, line, err)) {
			read = TRACE_FAILED;
			break;
		}
	trace_reader_free(reader);
	if (read == TRACE_FAILED)
		return error_wrap(err, "%s", path);
	if (!replay->count)
		return error_set(err, ERROR_USAGE, "%s holds no turns", path);
	qsort(replay->turns, replay->count, sizeof(*replay->turns),
	      compare_turns);
	return true;
}

static struct recorded *next_of_kind(struct replay *replay, enum turn_kind kind)
{
	for (size_t i = 0; i < replay->count; i++) {
		struct recorded *turn = &replay->turns[i];

		if (!turn->given && turn->turn.complete &&
		    turn->turn.kind == kind)
			return turn;
	}
	return NULL;
}

static void reply_error(struct http_exchange *http, unsigned status,
			const char *message)
{
	struct http_json answer;
	struct json_writer *jw = &answer.jw;

	http_json_begin(&answer);
	jw_object_begin(jw);
	jw_key(jw, "error");
	jw_object_begin(jw);
	jw_key(jw, "message");
	jw_cstring(jw, message);
	jw_key(jw, "type");
	jw_cstring(jw, "invalid_request_error");
	jw_key(jw, "param");
	jw_null(jw);
	jw_key(jw, "code");
	jw_null(jw);
	jw_object_end(jw);
	jw_object_end(jw);
	http_json_send(&answer, http, status);
}

static void reply_models(struct replay *replay, struct http_exchange *http)
{
	struct span model = replay->turns[0].turn.upstream_model;
	struct http_json answer;
	struct json_writer *jw = &answer.jw;

	http_json_begin(&answer);
	jw_object_begin(jw);
	jw_key(jw, "object");
	jw_cstring(jw, "list");
	jw_key(jw, "data");
	jw_array_begin(jw);
	jw_object_begin(jw);
	jw_key(jw, "id");
	jw_raw(jw, model.len ? model : SPAN("\"replay\""));
	jw_key(jw, "object");
	jw_cstring(jw, "model");
	jw_key(jw, "owned_by");
	jw_cstring(jw, "octap-replay");
	jw_object_end(jw);
	jw_array_end(jw);
	jw_object_end(jw);
	http_json_send(&answer, http, 200);
}

static void free_stream(void *arg)
{
	struct stream *stream = arg;

	synthesize_release(&stream->synthesis);
	loop_timer_free(stream->timer);
	free(stream);
}

static void end_stream(struct stream *stream)
{
	*stream->link = stream->next;
	if (stream->next)
		stream->next->link = stream->link;
	loop_defer_free(stream->replay->loop, free_stream, stream);
}

static void cut_stream(void *arg)
{
	struct stream *stream = arg;

	http_reply_cut(stream->http);
	end_stream(stream);
}

/* Write events until one brings tokens that take time. */
static void go_on(void *arg)
{
	struct stream *stream = arg;
	uint64_t pause_ms = 0;
	struct error err;
	struct buf out;
	bool ok = true;

	buf_init(&out, LIMIT_REPLY_BODY);
	while (ok && !stream->synthesis.done && !pause_ms) {
		uint64_t tokens;

		ok = synthesize_next(&stream->synthesis, &out, &tokens, &err);
		pause_ms = tokens * stream->replay->token_interval_ms;
	}
	http_reply_write(stream->http, buf_span(&out));
	buf_release(&out);
	if (!ok) {
		log_error("replay", "%s", err.text);
		cut_stream(stream);
	} else if (stream->synthesis.done) {
		http_reply_end(stream->http);
		end_stream(stream);
	} else {
		loop_timer_start(stream->timer, pause_ms);
	}
}

static void begin_stream(struct replay *replay, struct http_exchange *http,
			 const struct turn *turn, const struct asked *asked)
{
	static const struct http_field fields[] = {
		{ "Content-Type", "text/event-stream; charset=utf-8" },
	};
	struct stream *stream = xcalloc(1, sizeof(*stream));
	struct error err;

	stream->replay = replay;
	stream->http = http;
	if (!synthesize_begin(&stream->synthesis, turn, asked, &err)) {
		reply_error(http, 404, err.text);
		free_stream(stream);
		return;
	}
	stream->timer = loop_timer_new(replay->loop, go_on, stream);
	stream->next = replay->streams;
	stream->link = &replay->streams;
	if (stream->next)
		stream->next->link = &stream->next;
	replay->streams = stream;
	http_exchange_on_gone(http, cut_stream, stream);
	http_reply_begin(http, 200, fields, ARRAY_LEN(fields));
	go_on(stream);
}

static void reply_whole(struct http_exchange *http, const struct turn *turn,
			const struct asked *asked)
{
	struct error err;
	struct buf body;

	buf_init(&body, LIMIT_REPLY_BODY);
	if (synthesize_whole(turn, asked, &body, &err))
		http_reply_json(http, 200, buf_span(&body));
	else
		reply_error(http, 404, err.text);
	buf_release(&body);
}

static void reply_chat(struct replay *replay, struct http_exchange *http)
{
	struct span body = http_exchange_body(http);
	enum turn_kind kind = request_kind(
		body, NULL,
		http_exchange_header(http, "x-parent-session-id") != NULL);
	struct recorded *turn = next_of_kind(replay, kind);
	const struct asked asked = asked_by(body);
	char *message;

	if (!turn) {
		message = xasprintf("The trace holds no further answer for a "
				    "call of kind %s.",
				    turn_kind_name(kind));
		log_warn("replay", "%s", message);
		reply_error(http, 404, message);
		free(message);
		return;
	}
	turn->given = true;
	log_info("replay", "turn %llu (%s)",
		 (unsigned long long)turn->turn.number, turn_kind_name(kind));
	if (asked.stream)
		begin_stream(replay, http, &turn->turn, &asked);
	else
		reply_whole(http, &turn->turn, &asked);
}

static void on_request(struct http_exchange *http, void *arg)
{
	struct replay *replay = arg;
	struct span path = http_exchange_path(http);
	bool post = !strcmp(http_exchange_method(http), "POST");

	if (post && span_ends_with(path, "/chat/completions"))
		reply_chat(replay, http);
	else if (!post && span_ends_with(path, "/models"))
		reply_models(replay, http);
	else
		reply_error(http, 404, "There is nothing at this path.");
}

struct replay *replay_open(struct loop *loop, const struct replay_spec *spec,
			   struct error *err)
{
	struct replay *replay = xcalloc(1, sizeof(*replay));

	replay->loop = loop;
	replay->token_interval_ms = spec->token_interval_ms;
	if (load(replay, spec->trace_path, err))
		replay->server = http_server_new(loop, spec->host, spec->port,
						 on_request, replay, err);
	if (replay->server)
		return replay;
	replay_close(replay);
	return NULL;
}

unsigned replay_port(const struct replay *replay)
{
	return http_server_port(replay->server);
}

uint64_t replay_turns(const struct replay *replay)
{
	return replay->count;
}

void replay_close(struct replay *replay)
{
	if (!replay)
		return;
	while (replay->streams)
		cut_stream(replay->streams);
	http_server_free(replay->server);
	for (size_t i = 0; i < replay->count; i++)
		free(replay->turns[i].line);
	free(replay->turns);
	free(replay);
}
