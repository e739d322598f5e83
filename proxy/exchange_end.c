/* How exchanges end, and what is recorded of them. */
#include "proxy/exchange_end.h"

#include <string.h>

#include "proxy/restream.h"
#include "proxy/shield.h"
#include "shared/clock.h"
#include "shared/json_scan.h"
#include "shared/json_text.h"
#include "shared/limits.h"
#include "shared/log.h"

void exchange_log_failure(const struct exchange *x, const char *what,
			  const struct error *err)
{
	log_warn("octap-proxy", "turn %llu: %s: %s",
		 (unsigned long long)x->turn, what, err->text);
}

/* The agent knows how the answer ended, and may act on that. */
static bool has_finish(const struct exchange *x)
{
	return x->agent_gone ? x->finish_sent : x->answer.finish_passed;
}

/* An answer whose finish_reason the agent has is complete all the same. */
static void set_failure(struct exchange *x, const struct error *err)
{
	if (!x->answer.finish_passed ||
	    !assemble_is_finished(&x->answer.assembler))
		x->failure = *err;
}

static void cancel_call(struct exchange *x)
{
	if (!x->call)
		return;
	x->attempts += http_call_attempts(x->call);
	http_call_cancel(x->call);
	x->call = NULL;
}

static bool is_shielded(const struct exchange *x)
{
	return x->proxy->config->error_shield != SWITCH_OFF;
}

void exchange_end_refused(struct exchange *x, enum reply_error which,
			  const struct error *why)
{
	struct error err;

	/* What is final is so whatever became of its text. */
	if (x->state == EXCHANGE_REFUSED && !x->refusal_cut && is_shielded(x) &&
	    shield_is_final(x->status)) {
		x->refusal_cut = true;
		exchange_log_failure(x, "a refusal is cut", why);
		exchange_end_upstream_refused(x);
		return;
	}
	exchange_log_failure(x, "not answered", why);
	set_failure(x, why);
	cancel_call(x);
	upstream_fields_release(&x->fields);
	buf_clear(&x->answer.held);
	x->reply_status = reply_error_status(which);
	x->ending = ENDING_REPLY;
	if (!reply_error_body(which, &x->answer.held, &err) ||
	    !assemble_refusal(&x->answer.assembler, x->status,
			      span_of(why->text), &err))
		exchange_log_failure(x, "error object", &err);
	exchange_enter(x, EXCHANGE_RECORDING);
}

void exchange_end_cut(struct exchange *x, const struct error *why)
{
	exchange_log_failure(x, "cut", why);
	set_failure(x, why);
	cancel_call(x);
	x->ending = ENDING_CUT;
	exchange_enter(x, EXCHANGE_RECORDING);
}

void exchange_end_stream(struct exchange *x)
{
	struct error err;

	x->ending = ENDING_STREAM;
	if (!answer_finish(&x->answer, clock_monotonic_us(), &err)) {
		exchange_end_cut(x, &err);
		return;
	}
	if (x->answer.added_error) {
		error_set(&err, ERROR_MALFORMED,
			  "the stream ended without a finish_reason that "
			  "the API knows");
		exchange_log_failure(x, "made an error", &err);
		set_failure(x, &err);
	} else if (assemble_has_error(&x->answer.assembler)) {
		/* The agent has that, too, finish_reason or not. */
		error_set(&x->failure, ERROR_UNAVAILABLE,
			  "the upstream reported an error in the stream");
	} else if (x->answer.assembler.unreadable) {
		error_set(&x->failure, ERROR_MALFORMED,
			  "an event of the stream cannot be read: no JSON "
			  "object, too deep, or its choices are none");
		exchange_log_failure(x, "not recorded whole", &x->failure);
	}
	exchange_enter(x, EXCHANGE_RECORDING);
}

static void hold_error_event(struct exchange *x, enum reply_error which)
{
	struct error err;

	buf_clear(&x->answer.held);
	if (!reply_error_event(which, &x->answer.held, &err))
		exchange_log_failure(x, "error event", &err);
}

void exchange_end_unusable(struct exchange *x, const struct error *why)
{
	exchange_log_failure(x, "made an error", why);
	set_failure(x, why);
	cancel_call(x);
	x->ending = ENDING_STREAM;
	if (x->failure.kind != ERROR_NONE)
		hold_error_event(x, REPLY_BAD_ANSWER);
	exchange_enter(x, EXCHANGE_RECORDING);
}

/* A stream was asked for and something else came: say so as a stream. */
static void end_not_a_stream(struct exchange *x)
{
	error_set(&x->failure, ERROR_MALFORMED,
		  "a stream was asked for, the answer is none");
	exchange_log_failure(x, "made an error", &x->failure);
	x->ending = ENDING_STREAM;
	hold_error_event(x, REPLY_NOT_A_STREAM);
	exchange_enter(x, EXCHANGE_RECORDING);
}

/* What came is no JSON: passed on and recorded as it is. */
static bool keep_unreadable(struct exchange *x, struct span body,
			    struct error *err)
{
	error_set(&x->failure, ERROR_MALFORMED,
		  "the answer is not JSON, or too deep");
	return assemble_refusal(&x->answer.assembler, x->status, body, err) &&
	       buf_add(&x->answer.held, body, err);
}

/* A whole answer that we asked for where the agent asked for a stream. */
static bool make_stream(struct exchange *x)
{
	struct buf stream;
	struct error err;

	if (!x->rewrite.whole_instead ||
	    !assemble_is_finished(&x->answer.assembler))
		return false;
	buf_init(&stream, LIMIT_REPLY_BODY);
	if (!restream(buf_span(&x->answer.held), x->rewrite.wants_usage,
		      &stream, &err)) {
		exchange_log_failure(x, "stream", &err);
		buf_release(&stream);
		return false;
	}
	buf_release(&x->answer.held);
	x->answer.held = stream;
	x->ending = ENDING_STREAM;
	x->restreamed = true;
	return true;
}

void exchange_end_whole(struct exchange *x)
{
	struct span body = buf_span(&x->body);
	struct error err;

	if (body.len)
		log_mask_bytes(x->body.data, body.len);
	x->ending = ENDING_REPLY;
	x->reply_status = x->status;
	if (!(json_valid(body) ? answer_whole(&x->answer, body, &err)
			       : keep_unreadable(x, body, &err))) {
		exchange_end_refused(x, REPLY_BAD_ANSWER, &err);
		return;
	}
	if (x->rewrite.stream && x->status < 300 && !make_stream(x)) {
		end_not_a_stream(x);
		return;
	}
	if (x->failure.kind == ERROR_NONE &&
	    !assemble_is_finished(&x->answer.assembler))
		error_set(&x->failure, ERROR_MALFORMED,
			  "the answer has no finish_reason");
	exchange_enter(x, EXCHANGE_RECORDING);
}

/* In the upstream's words, unless an agent would misunderstand them. */
static bool add_refusal(struct exchange *x, struct span body, struct error *err)
{
	if (!x->refusal_cut &&
	    (!is_shielded(x) || !shield_needed(x->status, body)))
		return buf_add(&x->answer.held, body, err);
	x->shielded = true;
	return shield_write(body, &x->answer.held, err);
}

/*
 * The upstream said no: its own words, unchanged, unless they quote the key,
 * which the agent must not see.
 */
void exchange_end_upstream_refused(struct exchange *x)
{
	struct span body = buf_span(&x->body);
	struct error err;

	cancel_call(x);
	if (body.len)
		log_mask_bytes(x->body.data, x->body.len);
	error_set(&x->failure, ERROR_REFUSED, "the upstream answered %u",
		  x->status);
	refusals_forget(&x->proxy->refusals, span_of(x->model), x->refused);
	x->ending = ENDING_REPLY;
	x->reply_status = x->status;
	if (!assemble_refusal(&x->answer.assembler, x->status, body, &err) ||
	    !add_refusal(x, body, &err)) {
		exchange_end_refused(x, REPLY_BAD_ANSWER, &err);
		return;
	}
	exchange_enter(x, EXCHANGE_RECORDING);
}

/* What the answer tells goes before what the list of models told. */
static const struct dialect *dialect_of(const struct exchange *x)
{
	const struct dialect *told = x->answer.strip.dialect;
	const struct dialect *probed = x->proxy->probe.dialect;

	return probed && (!told || told == &dialect_plain) ? probed : told;
}

/* What the operator knows goes before what the dialect makes likely. */
static const char *logprobs_mode(const struct exchange *x)
{
	const char *told = x->proxy->config->logprobs_mode;
	const struct dialect *dialect = dialect_of(x);

	if (strcmp(told, "auto") != 0)
		return told;
	return dialect ? dialect->logprobs_mode : "unknown";
}

static void fill_turn(const struct exchange *x, struct turn *t)
{
	const struct dialect *dialect = dialect_of(x);

	*t = (struct turn){
		.number = x->turn,
		.kind = x->kind,
		.rollout_id = span_of(x->proxy->config->rollout_id),
		.session_id = span_of(x->session_id),
		.parent_session_id = span_of(x->parent_session_id),
		.attempt = x->attempt,
		.supersedes = x->supersedes,
		.request = buf_span(&x->forwarded),
		.logprobs_mode = span_of(logprobs_mode(x)),
		.upstream_headers = buf_span(&x->versions),
		.sampling = buf_span(&x->rewrite.sampling),
		.degraded = buf_span(&x->rewrite.degraded),
		.restreamed = x->restreamed,
		.upstream_status = x->status,
		.attempts = x->attempts +
			    (x->call ? http_call_attempts(x->call) : 0),
		.timestamp_us = x->wall_us,
		.latency_us = clock_monotonic_us() - x->start_us,
		.delivered = !x->agent_gone && x->ending != ENDING_CUT,
		.complete = x->failure.kind == ERROR_NONE &&
			    assemble_is_finished(&x->answer.assembler),
		.abort_reason = span_of(x->failure.text),
	};
	if (dialect)
		t->dialect = span_of(dialect->name);
	t->side_effects_possible = has_finish(x) && !t->delivered;
}

/* The last step towards the agent. */
static void deliver(struct exchange *x)
{
	const struct http_field stream_fields[] = {
		{ "Content-Type", "text/event-stream" },
		{ "Cache-Control", "no-cache" },
		{ "X-Octap-Synthetic", "stream" },
	};

	if (x->agent_gone || x->ending == ENDING_CUT) {
		/* It may act on a finish_reason without the end. */
		x->proxy->delivered += has_finish(x);
		http_reply_cut(x->http);
		return;
	}
	if (x->failure.kind == ERROR_NONE)
		x->proxy->delivered++;
	if (x->ending == ENDING_REPLY && x->fields.text && !x->shielded) {
		http_reply(x->http, x->reply_status, x->fields.items,
			   x->fields.count, buf_span(&x->answer.held));
	} else if (x->ending == ENDING_REPLY) {
		http_reply_json(x->http, x->reply_status,
				buf_span(&x->answer.held));
	} else {
		if (!x->reply_begun)
			http_reply_begin(x->http, 200, stream_fields,
					 x->restreamed ? 3 : 2);
		http_reply_write(x->http, buf_span(&x->answer.held));
		http_reply_end(x->http);
	}
}

static void on_recorded(const struct error *err, void *arg)
{
	struct exchange *x = arg;

	if (err)
		log_error("octap-proxy", "turn %llu is not in the trace: %s",
			  (unsigned long long)x->turn, err->text);
	else
		x->proxy->turns++;
	deliver(x);
	exchange_enter(x, EXCHANGE_DONE);
}

/* What a server passes over in silence is no less missing. */
static void note_absence(struct exchange *x, const struct turn *t)
{
	if (!t->complete)
		return;
	if (x->rewrite.asks_logprobs && !t->logprobs.len &&
	    !assemble_spilled(&x->answer.assembler))
		x->proxy->without_logprobs++;
	if (x->rewrite.added_sglext && !t->completion_token_ids.len)
		refusals_add(&x->proxy->refusals, span_of(x->model),
			     ADDITION_SGLEXT);
}

/* Of what the agent got; where the server does not tell, what was seen. */
static void count_tokens(struct exchange *x, const struct turn *t)
{
	struct json_value total = JSON_VALUE_NONE;
	uint64_t count = 0;

	if (!t->complete)
		return;
	json_find(t->usage, "total_tokens", &total);
	if (!json_to_u64(total, &count))
		count = assemble_tokens(&x->answer.assembler);
	x->proxy->total_tokens += count;
}

void exchange_record(struct exchange *x)
{
	struct turn turn;
	struct error err;

	fill_turn(x, &turn);
	refusals_forget(&x->proxy->refusals, span_of(x->model), x->unfit);
	log_debug("octap-proxy", "turn %llu: status %u, %s, %llu ms",
		  (unsigned long long)x->turn, x->status,
		  turn.complete ? "complete" : "not complete",
		  (unsigned long long)turn.latency_us / 1000);
	if (assemble_finish(&x->answer.assembler, &turn, &err)) {
		note_absence(x, &turn);
		lineage_end(&x->proxy->lineages, &turn);
		count_tokens(x, &turn);
		recorder_append(x->proxy->recorder, &turn,
				assemble_spilled(&x->answer.assembler),
				on_recorded, x);
		return;
	}
	x->proxy->unrecorded++;
	on_recorded(&err, x);
}
