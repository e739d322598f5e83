/* max_tokens and max_completion_tokens. */
#include "proxy/token_limit.h"

#include <stdio.h>
#include <string.h>

#include "shared/json_text.h"

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

static void cap_member(struct request_edit *e, enum request_member m,
		       uint64_t cap, struct span number)
{
	if (edit_is_set(e, m) && exceeds(e->members[m].value, cap))
		edit_replace(e, e->members[m].value, number);
}

/* Whatever a model refuses the other name may be right for. */
static bool is_renamed(const struct token_limit_rules *rules)
{
	if (rules->left_out & 1u << ADDITION_MAX_COMPLETION_TOKENS)
		return false;
	return rules->left_out & 1u << ADDITION_MAX_TOKENS ||
	       wants_completion_tokens(rules->model);
}

/* Where the agent has no limit; the addition that it is. */
static enum addition add_limit(struct request_edit *e, bool renamed,
			       unsigned left_out, struct span number)
{
	enum addition addition =
		renamed ? ADDITION_MAX_COMPLETION_TOKENS : ADDITION_MAX_TOKENS;

	if (left_out & 1u << addition)
		return ADDITION_NONE;
	edit_set(e, renamed ? REQ_MAX_COMPLETION_TOKENS : REQ_MAX_TOKENS,
		 number);
	return addition;
}

static void lower_limits(struct request_edit *e, bool renamed, uint64_t cap,
			 struct span number)
{
	if (!(renamed && edit_is_set(e, REQ_MAX_COMPLETION_TOKENS)))
		cap_member(e, REQ_MAX_TOKENS, cap, number);
	cap_member(e, REQ_MAX_COMPLETION_TOKENS, cap, number);
}

/*
 * Of all members that limit the answer's tokens only the one with this key
 * stays: were just the last of a name cut, the one before it would count.
 */
static void keep_one_limit(struct request_edit *e, struct span kept)
{
	struct member_cutter cutter;
	struct json_value value;
	struct json_cursor c;
	struct span key;

	json_open_indexed(&c, e->body, e->index);
	json_enter_object(&c);
	cutter_begin(&cutter, e->splices, e->inside);
	while (json_next_key(&c, &key) && json_read(&c, &value)) {
		enum request_member m = request_member_of_key(key);

		cutter_member(&cutter, edit_offset(e, key), c.pos,
			      key.data != kept.data &&
				      (m == REQ_MAX_TOKENS ||
				       m == REQ_MAX_COMPLETION_TOKENS));
	}
	cutter_end(&cutter);
}

static void rename_member(struct request_edit *e)
{
	struct span key = e->members[REQ_MAX_TOKENS].key;

	if (edit_is_set(e, REQ_MAX_COMPLETION_TOKENS))
		key = e->members[REQ_MAX_COMPLETION_TOKENS].key;
	else
		splice_replace(e->splices, edit_offset(e, key), key.len,
			       SPAN("\"max_completion_tokens\""));
	keep_one_limit(e, key);
}

static struct token_limit plan_added(struct request_edit *e, bool renamed,
				     const struct token_limit_rules *rules,
				     struct span number)
{
	enum addition addition = ADDITION_NONE;

	if (rules->cap)
		addition = add_limit(e, renamed, rules->left_out, number);
	if (addition == ADDITION_NONE)
		return (struct token_limit){ SPAN_NONE, "server", 0 };
	return (struct token_limit){ number, "injected", 1u << addition };
}

struct token_limit token_limit_plan(struct request_edit *e,
				    const struct token_limit_rules *rules)
{
	bool renamed = is_renamed(rules);
	bool old_name = edit_is_set(e, REQ_MAX_TOKENS);
	bool new_name = edit_is_set(e, REQ_MAX_COMPLETION_TOKENS);
	enum request_member m =
		new_name ? REQ_MAX_COMPLETION_TOKENS : REQ_MAX_TOKENS;
	struct token_limit limit = { e->members[m].value.text, "requested", 0 };
	struct span number = SPAN_NONE;
	char text[24];

	if (rules->cap) {
		snprintf(text, sizeof(text), "%llu",
			 (unsigned long long)rules->cap);
		number = edit_keep(e, "", span_of(text), "");
	}
	if (!old_name && !new_name)
		return plan_added(e, renamed, rules, number);
	if (rules->cap && exceeds(e->members[m].value, rules->cap)) {
		limit.value = number;
		limit.source = "injected";
	}
	if (rules->cap)
		lower_limits(e, renamed, rules->cap, number);
	if (renamed && old_name) {
		rename_member(e);
		if (!new_name)
			limit.added = 1u << ADDITION_MAX_COMPLETION_TOKENS;
	}
	return limit;
}
