/*
 * The path of one model call.  Callbacks from the server, the client and the
 * recorder come in here; each does its bytes and then calls exchange_enter()
 * for the next state, the only place where the state changes.
 */
#include "proxy/exchange.h"

#include <assert.h>
#include <stdlib.h>
#include <strings.h>

#include "proxy/exchange_end.h"
#include "proxy/exchange_send.h"
#include "shared/clock.h"
#include "shared/limits.h"
#include "shared/log.h"
#include "shared/mem.h"
#include "shared/request_kind.h"

/* How often a stream is looked after, and what is done then. */
#define TICK_MS        1000
#define QUIET_MS       10000  /* after so long a comment shows we live */
#define WAITED_MS      1000   /* for the usage event, by the last ones */
#define DRAIN_LIMIT_MS 120000 /* for the rest of an answer nobody awaits */

static void exchange_free(void *arg)
{
	struct exchange *x = arg;

	loop_timer_free(x->tick);
	rewrite_release(&x->rewrite);
	answer_release(&x->answer);
	upstream_fields_release(&x->fields);
	buf_release(&x->forwarded);
	buf_release(&x->body);
	buf_release(&x->versions);
	free(x->model);
	free(x->session_id);
	free(x->parent_session_id);
	free(x);
}

/* Nobody asked for that, and it cannot be read. */
static bool is_compressed(const struct exchange *x)
{
	const char *encoding =
		upstream_fields_find(&x->fields, "content-encoding");

	return encoding && *encoding && strcasecmp(encoding, "identity") != 0;
}

static bool is_event_stream(const struct exchange *x)
{
	const char *type = upstream_fields_find(&x->fields, "content-type");

	return type && !strncasecmp(type, "text/event-stream", 17) &&
	       !is_compressed(x);
}

/* A stream that is called something else, which agents do not look at. */
static bool is_mislabelled(const struct exchange *x)
{
	struct span body = buf_span(&x->body);

	return x->rewrite.stream && x->status < 300 && !is_compressed(x) &&
	       (span_starts_with(body, "data:") ||
		span_starts_with(body, "event:") ||
		span_starts_with(body, ":"));
}

static void on_head(struct http_call *call, unsigned status, void *arg)
{
	struct exchange *x = arg;

	x->status = status;
	upstream_fields_copy(&x->fields, call,
			     x->proxy->config->max_retry_after_ms / 1000);
	if (status < 400)
		http_exchange_drop_body(x->http);
	upstream_fields_versions(&x->fields, &x->versions);
	if (status >= 400)
		exchange_enter(x, EXCHANGE_REFUSED);
	else if (is_event_stream(x))
		exchange_enter(x, EXCHANGE_STREAMING);
	else
		exchange_enter(x, EXCHANGE_WHOLE);
}

static void send(struct exchange *x, struct span bytes)
{
	if (x->agent_gone || !bytes.len)
		return;
	http_reply_write(x->http, bytes);
	x->last_sent_ms = clock_monotonic_ms();
}

static void feed_stream(struct exchange *x, struct span bytes)
{
	struct error err;

	x->last_byte_ms = clock_monotonic_ms();
	if (!answer_feed(&x->answer, bytes, clock_monotonic_us(), &err)) {
		exchange_end_unusable(x, &err);
		return;
	}
	send(x, buf_span(&x->answer.out));
	buf_clear(&x->answer.out);
	if (x->answer.holding)
		exchange_end_stream(x);
	else if (!x->agent_gone &&
		 http_reply_backlog(x->http) > LIMIT_HTTP_REPLY_GAP)
		http_call_pause(x->call);
}

static void on_body(struct http_call *call UNUSED, struct span bytes, void *arg)
{
	struct exchange *x = arg;
	struct error err;

	if (x->state == EXCHANGE_STREAMING) {
		feed_stream(x, bytes);
	} else if (x->state != EXCHANGE_RECORDING &&
		   !buf_add(&x->body, bytes, &err)) {
		exchange_end_refused(x, REPLY_BAD_ANSWER, &err);
	} else if (x->state == EXCHANGE_WHOLE && is_mislabelled(x)) {
		exchange_enter(x, EXCHANGE_STREAMING);
		feed_stream(x, buf_span(&x->body));
		buf_release(&x->body);
	}
}

/*
 * What is missing after the finish_reason (the usage, [DONE]) is no reason to
 * make the agent ask for the same answer again.
 */
static bool has_its_answer(const struct exchange *x)
{
	return x->state == EXCHANGE_STREAMING &&
	       assemble_is_finished(&x->answer.assembler);
}

/* Only events that are whole have left, so this is between two. */
static void send_comment(struct exchange *x)
{
	send(x, SPAN(": the model is at work\n\n"));
}

static void end_with(struct exchange *x, const char *why)
{
	struct error err;

	error_set(&err, ERROR_TIMEOUT, "%s", why);
	exchange_end_cut(x, &err);
}

static void let_go(struct exchange *x)
{
	struct error err;

	if (!answer_let_go(&x->answer, &err)) {
		exchange_end_cut(x, &err);
		return;
	}
	send(x, buf_span(&x->answer.out));
	buf_clear(&x->answer.out);
}

static void look_after_stream(struct exchange *x, uint64_t now)
{
	uint64_t patience = x->proxy->config->request_timeout_ms;
	size_t backlog = x->agent_gone ? 0 : http_reply_backlog(x->http);

	if (backlog && patience && now - x->last_drained_ms > patience)
		end_with(x, "the agent takes nothing of its answer");
	else if (x->answer.waiting.len && now - x->last_byte_ms > WAITED_MS)
		let_go(x);
	else if (now - x->last_sent_ms > QUIET_MS && !backlog)
		send_comment(x);
	if (!backlog)
		x->last_drained_ms = now;
}

static void on_tick(void *arg)
{
	struct exchange *x = arg;
	uint64_t now = clock_monotonic_ms();

	if (x->state >= EXCHANGE_RECORDING)
		return;
	if (x->agent_gone && now - x->gone_ms > DRAIN_LIMIT_MS)
		end_with(x, "the agent hung up, and the answer does not end");
	else if (x->state == EXCHANGE_STREAMING)
		look_after_stream(x, now);
	if (x->state < EXCHANGE_RECORDING)
		loop_timer_start(x->tick, TICK_MS);
}

static void on_failed(struct exchange *x, const struct error *err)
{
	struct error wrapped = *err;

	error_wrap(&wrapped, "upstream");
	if (has_its_answer(x)) {
		exchange_log_failure(x, "after the finish_reason", &wrapped);
		exchange_end_stream(x);
	} else if (x->state == EXCHANGE_STREAMING) {
		exchange_end_cut(x, &wrapped);
	} else {
		exchange_end_refused(x,
				     err->kind == ERROR_TIMEOUT
					     ? REPLY_UPSTREAM_SILENT
					     : REPLY_UNREACHABLE,
				     &wrapped);
	}
}

static void on_done(struct http_call *call, const struct error *err, void *arg)
{
	struct exchange *x = arg;

	x->call = NULL;
	x->attempts += http_call_attempts(call);
	if (x->state == EXCHANGE_RECORDING)
		return;
	if (err)
		on_failed(x, err);
	else if (x->state == EXCHANGE_STREAMING)
		exchange_end_stream(x);
	else if (x->state == EXCHANGE_WHOLE)
		exchange_end_whole(x);
	else if (!exchange_send_without(x))
		exchange_end_upstream_refused(x);
}

const struct http_handler exchange_upstream_handler = { on_head, on_body,
							on_done };

/* As far as its lineage looks at it. */
static struct turn call_of(const struct exchange *x)
{
	return (struct turn){
		.number = x->turn,
		.kind = x->kind,
		.session_id = span_of(x->session_id),
	};
}

static void on_agent_gone(void *arg)
{
	struct exchange *x = arg;
	struct turn call = call_of(x);
	struct error err;

	x->agent_gone = true;
	x->finish_sent = x->answer.finish_passed;
	lineage_lost(&x->proxy->lineages, &call);
	if (x->state >= EXCHANGE_RECORDING)
		return;
	if (x->proxy->config->drain_disconnected && x->call) {
		x->gone_ms = clock_monotonic_ms();
		loop_timer_start(x->tick, TICK_MS);
		http_call_resume(x->call);
		return;
	}
	error_set(&err, ERROR_CANCELLED, "the agent hung up");
	exchange_end_cut(x, &err);
}

static void on_agent_drained(void *arg)
{
	struct exchange *x = arg;

	x->last_drained_ms = clock_monotonic_ms();
	if (x->call)
		http_call_resume(x->call);
}

static void finish(struct exchange *x)
{
	/* After [DONE] only the answer's formal end is still to come. */
	if (x->call)
		http_call_leave(x->call);
	*x->link = x->next;
	if (x->next)
		x->next->link = x->link;
	x->proxy->in_flight--;
	loop_defer_free(x->proxy->loop, exchange_free, x);
	proxy_on_ended(x->proxy);
}

void exchange_enter(struct exchange *x, enum exchange_state state)
{
	assert(state > x->state || state == EXCHANGE_WAITING);
	x->state = state;
	switch (state) {
	case EXCHANGE_WAITING:
		break;
	case EXCHANGE_STREAMING:
		http_reply_begin(x->http, x->status, x->fields.items,
				 x->fields.count);
		x->reply_begun = true;
		x->last_byte_ms = x->last_sent_ms = x->last_drained_ms =
			clock_monotonic_ms();
		loop_timer_start(x->tick, TICK_MS);
		break;
	case EXCHANGE_WHOLE:
		buf_init(&x->body, LIMIT_REPLY_BODY);
		break;
	case EXCHANGE_REFUSED:
		buf_init(&x->body, LIMIT_REPLY_ERROR);
		break;
	case EXCHANGE_RECORDING:
		exchange_record(x);
		break;
	case EXCHANGE_DONE:
		finish(x);
		break;
	}
}

static char *copy_header(const struct http_exchange *http, const char *name)
{
	const char *value = http_exchange_header(http, name);

	return value ? xstrdup(value) : NULL;
}

static struct exchange *exchange_new(struct proxy *proxy,
				     struct http_exchange *http)
{
	struct exchange *x = xcalloc(1, sizeof(*x));

	x->proxy = proxy;
	x->http = http;
	x->tick = loop_timer_new(proxy->loop, on_tick, x);
	x->turn = ++proxy->last_turn;
	x->start_us = clock_monotonic_us();
	x->wall_us = clock_wall_us();
	x->session_id = copy_header(http, "x-session-id");
	x->parent_session_id = copy_header(http, "x-parent-session-id");
	buf_init(&x->versions, LIMIT_REPLY_HEADERS);
	buf_init(&x->forwarded, LIMIT_HTTP_BODY + LIMIT_TASK_FILE);
	x->next = proxy->exchanges;
	x->link = &proxy->exchanges;
	if (x->next)
		x->next->link = &x->next;
	proxy->exchanges = x;
	proxy->in_flight++;
	http_exchange_on_gone(http, on_agent_gone, x);
	http_exchange_on_drained(http, on_agent_drained, x);
	return x;
}

static void note_attempt(struct exchange *x, struct span body)
{
	struct turn turn = call_of(x);

	lineage_begin(&x->proxy->lineages, &turn, body);
	x->attempt = turn.attempt;
	x->supersedes = turn.supersedes;
}

void exchange_begin(struct proxy *proxy, struct http_exchange *http)
{
	struct exchange *x = exchange_new(proxy, http);
	struct span body = http_exchange_body(http);
	struct json_index index;

	json_index_make(&index, body, 1);
	x->kind = request_kind(body, &index, x->parent_session_id != NULL);
	note_attempt(x, body);
	exchange_send(x, &index);
}

void exchange_abort_all(struct proxy *proxy, const char *reason)
{
	struct error err;

	error_set(&err, ERROR_CANCELLED, "%s", reason);
	for (struct exchange *x = proxy->exchanges, *next; x; x = next) {
		next = x->next;
		if (x->state < EXCHANGE_RECORDING)
			exchange_end_cut(x, &err);
	}
}
