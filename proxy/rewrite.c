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

	json_open(&c, p->body);
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

	json_open(&c, p->body);
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

/* An agent that asked for log-probabilities itself gets what it asked for. */
static void plan_logprobs(struct plan *p)
{
	char number[24];

	if (is_true(p, REQ_LOGPROBS))
		return;
	p->rw->added_logprobs = true;
	set_member(p, REQ_LOGPROBS, SPAN("true"));
	if (is_set(p, REQ_TOP_LOGPROBS))
		return;
	snprintf(number, sizeof(number), "%llu",
		 (unsigned long long)p->rules->top_logprobs);
	set_member(p, REQ_TOP_LOGPROBS, span_of(number));
}

static void plan_token_ids(struct plan *p)
{
	if (!p->rules->token_ids || is_true(p, REQ_RETURN_TOKEN_IDS))
		return;
	p->rw->added_token_ids = true;
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

static void plan_usage(struct plan *p)
{
	if (p->rw->stream)
		p->rw->added_usage = set_in_object(p, REQ_STREAM_OPTIONS,
						   "include_usage", "true");
}

static void plan_thinking(struct plan *p)
{
	if (p->rules->disable_thinking)
		set_in_object(p, REQ_CHAT_TEMPLATE_KWARGS, "enable_thinking",
			      "false");
}

static void plan_model(struct plan *p)
{
	struct json_writer jw;
	struct error err;
	struct buf quoted;

	p->rw->model = p->members[REQ_MODEL].value.text;
	if (!p->rules->model_override)
		return;
	buf_init(&quoted, LIMIT_PATH);
	jw_init(&jw, &quoted);
	jw_cstring(&jw, p->rules->model_override);
	if (jw_finish(&jw, &err)) {
		p->rw->model = keep(p, "", buf_span(&quoted), "");
		set_member(p, REQ_MODEL, p->rw->model);
	} else {
		p->out_of_room = true;
	}
	buf_release(&quoted);
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

	return !json_to_double(value, &number) || number > (double)cap;
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
		struct json_value ours;

		if (p->rules->sampling.len &&
		    json_find(p->rules->sampling, member_name(m), &ours)) {
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

bool rewrite_plan(struct rewrite *rw, const struct rewrite_rules *rules,
		  struct span body, struct error *err)
{
	struct plan p = { .rw = rw, .rules = rules, .body = body };
	struct json_writer jw;

	*rw = (struct rewrite){ .splices = SPLICE_LIST_INIT };
	buf_init(&rw->texts, LIMIT_TASK_FILE);
	buf_init(&rw->sampling, LIMIT_TASK_FILE);
	if (!scan_members(&p))
		return error_set(err, ERROR_MALFORMED,
				 "request body is not a JSON object");
	if (!buf_reserve(&rw->texts, 2 * rules->sampling.len + 4 * LIMIT_PATH,
			 err))
		return false;
	rw->stream = is_true(&p, REQ_STREAM);
	jw_init(&jw, &rw->sampling);
	jw_object_begin(&jw);
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
	return jw_finish(&jw, err);
}

void rewrite_release(struct rewrite *rw)
{
	splice_release(&rw->splices);
	buf_release(&rw->texts);
	buf_release(&rw->sampling);
}

bool rewrite_is_stream(struct span body)
{
	struct json_value value;

	return json_find(body, member_names[REQ_STREAM], &value) &&
	       value.type == JSON_TRUE;
}
