/*
 * Planning the edits of a request: one walk over the outermost object collects
 * the members that matter, then each rule looks at what was found.
 */
#include "proxy/rewrite.h"

#include <stdio.h>
#include <string.h>

#include "shared/json_scan.h"
#include "shared/json_text.h"
#include "shared/json_write.h"
#include "shared/limits.h"
#include "shared/sampling.h"

/* The members of a request that some rule looks at. */
enum request_member {
	REQ_STREAM,
	REQ_STREAM_OPTIONS,
	REQ_LOGPROBS,
	REQ_TOP_LOGPROBS,
	REQ_RETURN_TOKEN_IDS,
	REQ_INPUT_IDS_IN_SGLEXT,
	REQ_OUTPUT_IDS_IN_SGLEXT,
	REQ_N_PROBS,
	REQ_TOOLS,
	REQ_MODEL,
	REQ_MAX_TOKENS,
	REQ_MAX_COMPLETION_TOKENS,
	REQ_CHAT_TEMPLATE_KWARGS,
	REQ_SAMPLING, /* the first of sampling_names */
	REQ_COUNT = REQ_SAMPLING + SAMPLING_COUNT,
};

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

struct found {
	struct span key; /* with its quotes; absent: empty */
	struct json_value value;
};

struct plan {
	struct rewrite *rw;
	const struct rewrite_rules *rules;
	struct span body;
	struct found members[REQ_COUNT];
	size_t inside;    /* offset just after the opening brace */
	bool has_members; /* in the agent's body */
	bool inserted;    /* a member was put in front of them */
	bool out_of_room;
};

static const char *member_name(enum request_member m)
{
	return m < REQ_SAMPLING ? member_names[m]
				: sampling_names[m - REQ_SAMPLING];
}

static enum request_member member_of_key(struct span key)
{
	enum request_member m = 0;

	while (m < REQ_COUNT && !json_key_is(key, member_name(m)))
		m++;
	return m;
}

static bool scan_members(struct plan *p)
{
	struct json_cursor c;
	struct span key;

	json_open_indexed(&c, p->body, p->rules->index);
	if (!json_enter_object(&c))
		return false;
	p->inside = c.pos;
	while (json_next_key(&c, &key)) {
		enum request_member m = member_of_key(key);
		struct json_value value;

		p->has_members = true;
		if (json_read(&c, &value) && m < REQ_COUNT)
			p->members[m] = (struct found){ key, value };
	}
	return json_close(&c);
}

/* Null is what a client prints for "not set". */
static bool is_set(const struct plan *p, enum request_member m)
{
	enum json_type type = p->members[m].value.type;

	return type != JSON_NONE && type != JSON_NULL;
}

static size_t offset_of(const struct plan *p, struct span part)
{
	return (size_t)(part.data - p->body.data);
}

/*
 * Keep a text for the splices.  They borrow it, so the buffer must not move:
 * it was given its room beforehand.
 */
static struct span keep(struct plan *p, const char *before, struct span text,
			const char *after)
{
	struct buf *texts = &p->rw->texts;
	size_t start = texts->len;
	size_t need = strlen(before) + text.len + strlen(after);
	struct error err;

	p->out_of_room |= need >= texts->alloc - start;
	if (p->out_of_room || !buf_add(texts, span_of(before), &err) ||
	    !buf_add(texts, text, &err) ||
	    !buf_add(texts, span_of(after), &err))
		return SPAN("");
	return span_from(texts->data + start, need);
}

/* A new member goes to the front, where its comma needs no search. */
static void insert_member(struct plan *p, enum request_member m,
			  struct span value)
{
	const char *comma = p->inserted && !p->has_members ? "," : "";
	char name[64];

	snprintf(name, sizeof(name), "%s\"%s\":", comma, member_name(m));
	splice_insert(&p->rw->splices, p->inside,
		      keep(p, name, value, p->has_members ? "," : ""));
	p->inserted = true;
}

/*
 * Of all members that limit the answer's tokens only the one with this key
 * stays: were just the last of a name cut, the one before it would count.
 */
static void keep_one_limit(struct plan *p, struct span kept)
{
	struct member_cutter cutter;
	struct json_value value;
	struct json_cursor c;
	struct span key;

	json_open_indexed(&c, p->body, p->rules->index);
	json_enter_object(&c);
	cutter_begin(&cutter, &p->rw->splices, p->inside);
	while (json_next_key(&c, &key) && json_read(&c, &value)) {
		enum request_member m = member_of_key(key);

		cutter_member(&cutter, offset_of(p, key), c.pos,
			      key.data != kept.data &&
				      (m == REQ_MAX_TOKENS ||
				       m == REQ_MAX_COMPLETION_TOKENS));
	}
	cutter_end(&cutter);
}

static void replace_value(struct plan *p, struct json_value old,
			  struct span value)
{
	if (span_equals(old.text, value))
		return;
	splice_replace(&p->rw->splices, offset_of(p, old.text), old.text.len,
		       keep(p, "", value, ""));
}

/* Give the member this value, whether it was there or not. */
static void set_member(struct plan *p, enum request_member m, struct span value)
{
	if (p->members[m].value.type == JSON_NONE)
		insert_member(p, m, value);
	else
		replace_value(p, p->members[m].value, value);
}

static bool is_true(const struct plan *p, enum request_member m)
{
	return p->members[m].value.type == JSON_TRUE;
}

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

	if (!p->rw->stream || !is_set(p, REQ_TOOLS) ||
	    !(by_dialect || is_left_out(p, ADDITION_LOGPROBS_WITH_TOOLS)))
		return false;
	if (is_left_out(p, ADDITION_N_PROBS) || is_set(p, REQ_N_PROBS))
		return true;
	p->rw->added_logprobs = true;
	note_addition(p, ADDITION_N_PROBS);
	set_member(p, REQ_N_PROBS, span_is(number, "0") ? SPAN("1") : number);
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
	if (is_true(p, REQ_LOGPROBS) || plan_n_probs(p, number) ||
	    is_left_out(p, ADDITION_LOGPROBS))
		return;
	p->rw->added_logprobs = true;
	note_addition(p, ADDITION_LOGPROBS);
	note_addition(p, ADDITION_LOGPROBS_WITH_TOOLS);
	set_member(p, REQ_LOGPROBS, SPAN("true"));
	if (is_set(p, REQ_TOP_LOGPROBS) ||
	    is_left_out(p, ADDITION_TOP_LOGPROBS))
		return;
	note_addition(p, ADDITION_TOP_LOGPROBS);
	set_member(p, REQ_TOP_LOGPROBS, number);
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
	set_member(p, REQ_STREAM, SPAN("false"));
	if (is_set(p, REQ_STREAM_OPTIONS))
		replace_value(p, p->members[REQ_STREAM_OPTIONS].value,
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
	set_member(p, REQ_INPUT_IDS_IN_SGLEXT, SPAN("true"));
	set_member(p, REQ_OUTPUT_IDS_IN_SGLEXT, SPAN("true"));
	return true;
}

static void plan_token_ids(struct plan *p)
{
	if (!wants_token_ids(p) || is_true(p, REQ_RETURN_TOKEN_IDS) ||
	    is_left_out(p, ADDITION_TOKEN_IDS) || plan_sglext(p))
		return;
	p->rw->added_token_ids = true;
	note_addition(p, ADDITION_TOKEN_IDS);
	if (p->rw->stream && !p->rw->whole_instead)
		note_addition(p, ADDITION_TOKEN_IDS_OF_STREAM);
	set_member(p, REQ_RETURN_TOKEN_IDS, SPAN("true"));
}

/*
 * Set one member of an object that is itself a member, which may be absent.
 * False when it already had that value.
 */
static bool set_in_object(struct plan *p, enum request_member m,
			  const char *key, const char *value)
{
	struct json_value object = p->members[m].value;
	struct json_value old;
	char quoted[64];
	bool empty;

	snprintf(quoted, sizeof(quoted), "\"%s\":%s", key, value);
	if (object.type != JSON_OBJECT) {
		set_member(p, m, keep(p, "{", span_of(quoted), "}"));
		return true;
	}
	if (json_find(object.text, key, &old)) {
		if (span_is(old.text, value))
			return false;
		replace_value(p, old, span_of(value));
		return true;
	}
	empty = !span_trim(span_from(object.text.data + 1, object.text.len - 2))
			 .len;
	splice_insert(&p->rw->splices, offset_of(p, object.text) + 1,
		      keep(p, quoted, span_of(empty ? "" : ","), ""));
	return true;
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
		is_usage_asked(p->members[REQ_STREAM_OPTIONS].value.text);
	if (!p->rw->stream || p->rw->whole_instead || p->rw->wants_usage ||
	    is_left_out(p, ADDITION_USAGE))
		return;
	p->rw->added_usage =
		set_in_object(p, REQ_STREAM_OPTIONS, "include_usage", "true");
	note_addition(p, ADDITION_USAGE);
}

static void plan_thinking(struct plan *p)
{
	if (p->rules->disable_thinking && !is_left_out(p, ADDITION_THINKING) &&
	    set_in_object(p, REQ_CHAT_TEMPLATE_KWARGS, "enable_thinking",
			  "false"))
		note_addition(p, ADDITION_THINKING);
}

/* Which one the server will see, and what it refused of us before. */
static void choose_model(struct plan *p)
{
	struct json_writer jw;
	struct error err;
	struct buf quoted;

	p->rw->model = p->members[REQ_MODEL].value.text;
	if (p->rules->model_override) {
		buf_init(&quoted, LIMIT_PATH);
		jw_init(&jw, &quoted);
		jw_cstring(&jw, p->rules->model_override);
		p->out_of_room |= !jw_finish(&jw, &err);
		p->rw->model = keep(p, "", buf_span(&quoted), "");
		buf_release(&quoted);
	}
	if (p->rules->refusals)
		p->rw->left_out = refusals_of(p->rules->refusals, p->rw->model);
}

static void plan_model(struct plan *p)
{
	if (p->rules->model_override)
		set_member(p, REQ_MODEL, p->rw->model);
}

/* gpt-5 and the o-series refuse max_tokens under its old name. */
static bool wants_completion_tokens(struct span model)
{
	static const char *const families[] = { "gpt-5", "o1", "o3", "o4" };
	const char *slash;

	if (!model.len)
		return false;
	slash = memrchr(model.data, '/', model.len);
	model = span_after(model, slash ? (size_t)(slash + 1 - model.data) : 1);
	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		size_t len = strlen(families[i]);

		if (model.len >= len &&
		    span_is_nocase(span_from(model.data, len), families[i]))
			return true;
	}
	return false;
}

/*
 * What is no number counts as too large (vLLM reads "99999" as one), and so
 * does a number too long for us.
 */
static bool exceeds(struct json_value value, uint64_t cap)
{
	double number;

	/* A negative one is none: llama.cpp. */
	return !json_to_double(value, &number) || number < 0 ||
	       number > (double)cap;
}

static void cap_member(struct plan *p, enum request_member m, struct span cap)
{
	if (is_set(p, m) &&
	    exceeds(p->members[m].value, p->rules->max_tokens_cap))
		replace_value(p, p->members[m].value, cap);
}

static void plan_cap(struct plan *p, bool renamed)
{
	char number[24];
	struct span cap;

	snprintf(number, sizeof(number), "%llu",
		 (unsigned long long)p->rules->max_tokens_cap);
	cap = span_of(number);
	if (!(renamed && is_set(p, REQ_MAX_COMPLETION_TOKENS)))
		cap_member(p, REQ_MAX_TOKENS, cap);
	cap_member(p, REQ_MAX_COMPLETION_TOKENS, cap);
	if (!is_set(p, REQ_MAX_TOKENS) && !is_set(p, REQ_MAX_COMPLETION_TOKENS))
		set_member(p,
			   renamed ? REQ_MAX_COMPLETION_TOKENS : REQ_MAX_TOKENS,
			   cap);
}

static void plan_max_tokens(struct plan *p)
{
	bool renamed = wants_completion_tokens(p->rw->model);
	struct span key = p->members[REQ_MAX_TOKENS].key;

	if (p->rules->max_tokens_cap)
		plan_cap(p, renamed);
	if (!renamed || !is_set(p, REQ_MAX_TOKENS))
		return;
	if (is_set(p, REQ_MAX_COMPLETION_TOKENS))
		key = p->members[REQ_MAX_COMPLETION_TOKENS].key;
	else
		splice_replace(&p->rw->splices, offset_of(p, key), key.len,
			       SPAN("\"max_completion_tokens\""));
	keep_one_limit(p, key);
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
		    json_find(p->rules->sampling, member_name(m), &ours)) {
			note_addition(p, addition);
			set_member(p, m, ours.text);
			report_sampling(jw, member_name(m), ours.text,
					"injected");
		} else if (is_set(p, m)) {
			report_sampling(jw, member_name(m),
					p->members[m].value.text, "requested");
		} else {
			report_sampling(jw, member_name(m), SPAN_NONE,
					"server");
		}
	}
}

static void report_max_tokens(const struct plan *p, struct json_writer *jw)
{
	enum request_member m = is_set(p, REQ_MAX_COMPLETION_TOKENS)
					? REQ_MAX_COMPLETION_TOKENS
					: REQ_MAX_TOKENS;
	struct json_value asked = p->members[m].value;
	char number[24];

	snprintf(number, sizeof(number), "%llu",
		 (unsigned long long)p->rules->max_tokens_cap);
	if (p->rules->max_tokens_cap &&
	    (!is_set(p, m) || exceeds(asked, p->rules->max_tokens_cap)))
		report_sampling(jw, "max_tokens", span_of(number), "injected");
	else if (is_set(p, m))
		report_sampling(jw, "max_tokens", asked.text, "requested");
	else
		report_sampling(jw, "max_tokens", SPAN_NONE, "server");
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
	struct plan p = { .rw = rw, .rules = rules, .body = body };
	struct json_writer jw;

	*rw = (struct rewrite){ .splices = SPLICE_LIST_INIT };
	buf_init(&rw->texts, LIMIT_TASK_FILE);
	buf_init(&rw->sampling, LIMIT_TASK_FILE);
	buf_init(&rw->degraded, LIMIT_REPLY_ERROR);
	if (!scan_members(&p))
		return error_set(
			err, ERROR_MALFORMED,
			"request body is not a JSON object, or too deep");
	if (!buf_reserve(&rw->texts, 2 * rules->sampling.len + 4 * LIMIT_PATH,
			 err))
		return false;
	rw->stream = is_true(&p, REQ_STREAM);
	jw_init(&jw, &rw->sampling);
	jw_object_begin(&jw);
	choose_model(&p);
	plan_logprobs(&p);
	plan_token_ids(&p);
	plan_usage(&p);
	plan_thinking(&p);
	plan_model(&p);
	plan_max_tokens(&p);
	plan_sampling(&p, &jw);
	report_max_tokens(&p, &jw);
	jw_object_end(&jw);
	if (p.out_of_room)
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

	return json_find(body, member_names[REQ_STREAM], &value) &&
	       value.type == JSON_TRUE;
}

bool rewrite_wants_usage(struct span body)
{
	struct json_value options;

	return json_find(body, member_names[REQ_STREAM_OPTIONS], &options) &&
	       is_usage_asked(options.text);
}
