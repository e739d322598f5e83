/* What is asked of the server: each rule looks at what the agent asked for. */
#include "proxy/rewrite.h"

#include <stdio.h>

#include "proxy/request_edit.h"
#include "proxy/token_limit.h"
#include "shared/json_scan.h"
#include "shared/json_text.h"
#include "shared/json_write.h"
#include "shared/limits.h"
#include "shared/sampling.h"

struct plan {
	struct rewrite *rw;
	const struct rewrite_rules *rules;
	struct request_edit edit;
};

static bool is_left_out(const struct plan *p, enum addition addition)
{
	return p->rw->left_out & 1u << addition;
}

static void note_addition(struct plan *p, enum addition addition)
{
	p->rw->added |= 1u << addition;
}

/* llama.cpp refuses logprobs in a stream with tools, but not this. */
static bool plan_n_probs(struct plan *p, struct span number)
{
	bool by_dialect =
		p->rules->dialect && p->rules->dialect->n_probs_for_tools;

	if (!p->rw->stream || !edit_is_set(&p->edit, REQ_TOOLS) ||
	    !(by_dialect || is_left_out(p, ADDITION_LOGPROBS_WITH_TOOLS)))
		return false;
	if (is_left_out(p, ADDITION_N_PROBS) ||
	    edit_is_set(&p->edit, REQ_N_PROBS))
		return true;
	p->rw->added_logprobs = true;
	note_addition(p, ADDITION_N_PROBS);
	edit_set(&p->edit, REQ_N_PROBS,
		 span_is(number, "0") ? SPAN("1") : number);
	return true;
}

/* An agent that asked for log-probabilities itself gets what it asked for. */
static void plan_logprobs(struct plan *p)
{
	char text[24];
	struct span number;

	snprintf(text, sizeof(text), "%llu",
		 (unsigned long long)p->rules->top_logprobs);
	number = span_of(text);
	if (edit_is_true(&p->edit, REQ_LOGPROBS) || plan_n_probs(p, number) ||
	    is_left_out(p, ADDITION_LOGPROBS))
		return;
	p->rw->added_logprobs = true;
	note_addition(p, ADDITION_LOGPROBS);
	if (p->rw->stream && edit_is_set(&p->edit, REQ_TOOLS))
		note_addition(p, ADDITION_LOGPROBS_WITH_TOOLS);
	edit_set(&p->edit, REQ_LOGPROBS, SPAN("true"));
	if (edit_is_set(&p->edit, REQ_TOP_LOGPROBS) ||
	    is_left_out(p, ADDITION_TOP_LOGPROBS))
		return;
	note_addition(p, ADDITION_TOP_LOGPROBS);
	edit_set(&p->edit, REQ_TOP_LOGPROBS, number);
}

static bool wants_token_ids(const struct plan *p)
{
	const struct dialect *dialect = p->rules->dialect;

	if (p->rules->token_ids == TOKEN_IDS_AUTO)
		return !dialect || dialect->asks_token_ids;
	return p->rules->token_ids == TOKEN_IDS_ON;
}

/* OpenAI's rule: stream_options only with a stream. */
static void plan_whole_instead(struct plan *p)
{
	p->rw->whole_instead = true;
	edit_set(&p->edit, REQ_STREAM, SPAN("false"));
	if (edit_is_set(&p->edit, REQ_STREAM_OPTIONS))
		edit_replace(&p->edit,
			     p->edit.members[REQ_STREAM_OPTIONS].value,
			     SPAN("null"));
}

/* SGLang's streams bear ids in an event of their own, or not at all. */
static bool plan_sglext(struct plan *p)
{
	bool by_dialect = p->rules->dialect && p->rules->dialect->ids_in_sglext;

	if (!p->rw->stream ||
	    !(by_dialect || is_left_out(p, ADDITION_TOKEN_IDS_OF_STREAM)))
		return false;
	if (is_left_out(p, ADDITION_SGLEXT)) {
		plan_whole_instead(p);
		return false;
	}
	p->rw->added_sglext = true;
	note_addition(p, ADDITION_SGLEXT);
	edit_set(&p->edit, REQ_INPUT_IDS_IN_SGLEXT, SPAN("true"));
	edit_set(&p->edit, REQ_OUTPUT_IDS_IN_SGLEXT, SPAN("true"));
	return true;
}

static void plan_token_ids(struct plan *p)
{
	if (!wants_token_ids(p) ||
	    edit_is_true(&p->edit, REQ_RETURN_TOKEN_IDS) ||
	    is_left_out(p, ADDITION_TOKEN_IDS) || plan_sglext(p))
		return;
	p->rw->added_token_ids = true;
	note_addition(p, ADDITION_TOKEN_IDS);
	if (p->rw->stream && !p->rw->whole_instead)
		note_addition(p, ADDITION_TOKEN_IDS_OF_STREAM);
	edit_set(&p->edit, REQ_RETURN_TOKEN_IDS, SPAN("true"));
}

static bool is_usage_asked(struct span stream_options)
{
	struct json_value usage;

	return json_find(stream_options, "include_usage", &usage) &&
	       usage.type == JSON_TRUE;
}

static void plan_usage(struct plan *p)
{
	p->rw->wants_usage =
		is_usage_asked(p->edit.members[REQ_STREAM_OPTIONS].value.text);
	if (!p->rw->stream || p->rw->whole_instead || p->rw->wants_usage ||
	    is_left_out(p, ADDITION_USAGE))
		return;
	p->rw->added_usage = edit_set_in_object(&p->edit, REQ_STREAM_OPTIONS,
						"include_usage", "true");
	note_addition(p, ADDITION_USAGE);
}

static void plan_thinking(struct plan *p)
{
	if (p->rules->disable_thinking && !is_left_out(p, ADDITION_THINKING) &&
	    edit_set_in_object(&p->edit, REQ_CHAT_TEMPLATE_KWARGS,
			       "enable_thinking", "false"))
		note_addition(p, ADDITION_THINKING);
}

/* Which one the server will see, and what it refused of us before. */
static void choose_model(struct plan *p)
{
	struct json_writer jw;
	struct error err;
	struct buf quoted;

	p->rw->model = p->edit.members[REQ_MODEL].value.text;
	if (p->rules->model_override) {
		buf_init(&quoted, LIMIT_PATH);
		jw_init(&jw, &quoted);
		jw_cstring(&jw, p->rules->model_override);
		p->edit.out_of_room |= !jw_finish(&jw, &err);
		p->rw->model = edit_keep(&p->edit, "", buf_span(&quoted), "");
		buf_release(&quoted);
	}
	if (p->rules->refusals)
		p->rw->left_out = refusals_of(p->rules->refusals, p->rw->model);
}

static void plan_model(struct plan *p)
{
	if (p->rules->model_override)
		edit_set(&p->edit, REQ_MODEL, p->rw->model);
}

/* One line of the record's `sampling`: the value sent and whose it is. */
static void report_sampling(struct json_writer *jw, const char *name,
			    struct span value, const char *source)
{
	jw_key(jw, name);
	jw_object_begin(jw);
	jw_key(jw, "value");
	jw_raw(jw, value);
	jw_key(jw, "source");
	jw_cstring(jw, source);
	jw_object_end(jw);
}

static void plan_sampling(struct plan *p, struct json_writer *jw)
{
	for (enum request_member m = REQ_SAMPLING; m < REQ_COUNT; m++) {
		enum addition addition = ADDITION_SAMPLING + (m - REQ_SAMPLING);
		struct json_value ours;

		if (p->rules->sampling.len && !is_left_out(p, addition) &&
		    json_find(p->rules->sampling, request_member_name(m),
			      &ours)) {
			note_addition(p, addition);
			edit_set(&p->edit, m, ours.text);
			report_sampling(jw, request_member_name(m), ours.text,
					"injected");
		} else if (edit_is_set(&p->edit, m)) {
			report_sampling(jw, request_member_name(m),
					p->edit.members[m].value.text,
					"requested");
		} else {
			report_sampling(jw, request_member_name(m), SPAN_NONE,
					"server");
		}
	}
}

static bool report_left_out(struct rewrite *rw, struct error *err)
{
	struct json_writer jw;

	jw_init(&jw, &rw->degraded);
	additions_write(&jw, rw->left_out);
	return jw_finish(&jw, err);
}

bool rewrite_plan(struct rewrite *rw, const struct rewrite_rules *rules,
		  struct span body, struct error *err)
{
	struct plan p = { .rw = rw, .rules = rules };
	struct token_limit_rules limits = { .cap = rules->max_tokens_cap };
	struct token_limit limit;
	struct json_writer jw;

	*rw = (struct rewrite){ .splices = SPLICE_LIST_INIT };
	buf_init(&rw->texts, LIMIT_TASK_FILE);
	buf_init(&rw->sampling, LIMIT_TASK_FILE);
	buf_init(&rw->degraded, LIMIT_REPLY_ERROR);
	if (!edit_begin(&p.edit, body, rules->index, &rw->splices, &rw->texts))
		return error_set(
			err, ERROR_MALFORMED,
			"request body is not a JSON object, or too deep");
	if (!buf_reserve(&rw->texts, 2 * rules->sampling.len + 4 * LIMIT_PATH,
			 err))
		return false;
	rw->stream = edit_is_true(&p.edit, REQ_STREAM);
	jw_init(&jw, &rw->sampling);
	jw_object_begin(&jw);
	choose_model(&p);
	plan_logprobs(&p);
	rw->asks_logprobs = rw->added_logprobs ||
			    edit_is_true(&p.edit, REQ_LOGPROBS) ||
			    edit_is_set(&p.edit, REQ_N_PROBS);
	plan_token_ids(&p);
	plan_usage(&p);
	plan_thinking(&p);
	plan_model(&p);
	limits.model = rw->model;
	limits.left_out = rw->left_out;
	limit = token_limit_plan(&p.edit, &limits);
	rw->added |= limit.added;
	plan_sampling(&p, &jw);
	report_sampling(&jw, "max_tokens", limit.value, limit.source);
	jw_object_end(&jw);
	if (p.edit.out_of_room)
		return error_set(err, ERROR_TOO_LARGE, "request edits");
	return jw_finish(&jw, err) &&
	       (!rw->left_out || report_left_out(rw, err));
}

void rewrite_release(struct rewrite *rw)
{
	splice_release(&rw->splices);
	buf_release(&rw->texts);
	buf_release(&rw->sampling);
	buf_release(&rw->degraded);
}

bool rewrite_is_stream(struct span body)
{
	struct json_value value;

	return json_find(body, request_member_name(REQ_STREAM), &value) &&
	       value.type == JSON_TRUE;
}

bool rewrite_wants_usage(struct span body)
{
	struct json_value options;

	return json_find(body, request_member_name(REQ_STREAM_OPTIONS),
			 &options) &&
	       is_usage_asked(options.text);
}
