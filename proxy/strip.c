/*
 * One walk over an event: the members we asked for are cut or nulled on the
 * way, and what is left of the event is judged at the end.
 */
#include "proxy/strip.h"

#include "shared/json_scan.h"
#include "shared/json_text.h"

/* What the walk over one event learns. */
struct walk {
	struct strip *strip;
	struct json_cursor c;
	bool removed;    /* something that bore tokens was taken out */
	bool kept_value; /* something of value to the agent stays */
	bool has_choice;
	bool has_usage;      /* an object, not null */
	bool has_sglext;     /* with nothing but what we asked for */
	bool foreign_tokens; /* tokens that the agent itself asked for */
};

static size_t offset_of(const struct walk *w, struct span part)
{
	return (size_t)(part.data - w->c.source.data);
}

/* Null it or have it cut; true: it is to be cut. */
static bool take_out(struct walk *w, const struct dialect_member *member,
		     struct json_value value)
{
	w->removed |= value.type != JSON_NULL;
	if (!member->null_unasked)
		return true;
	if (value.type != JSON_NULL)
		splice_replace(&w->strip->splices, offset_of(w, value.text),
			       value.text.len, SPAN("null"));
	return false;
}

static const struct dialect_member *find_member(
	const struct dialect_member *list, size_t count, struct span key)
{
	for (size_t i = 0; i < count && list[i].name; i++)
		if (json_key_is(key, list[i].name))
			return &list[i];
	return NULL;
}

/* Where the server is unknown, its earlier events tell what it prints. */
static bool strip_logprobs(struct walk *w, struct json_value value)
{
	const struct dialect *dialect = w->strip->dialect;
	const struct dialect_member learnt = { "logprobs",
					       w->strip->null_seen };

	if (!w->strip->logprobs) {
		w->foreign_tokens |= value.type != JSON_NULL;
		return false;
	}
	w->strip->null_seen |= value.type == JSON_NULL;
	if (!dialect->logprobs.name && value.type == JSON_NULL)
		return false;
	return take_out(w,
			dialect->logprobs.name ? &dialect->logprobs : &learnt,
			value);
}

/* Nothing in it, or only the null that this server prints always. */
static bool delta_is_idle(const struct walk *w, struct json_value delta)
{
	const char *idle = w->strip->dialect->idle_delta_member;
	struct json_cursor c;
	struct span key;
	bool is_idle = true;

	if (delta.type != JSON_OBJECT)
		return delta.type == JSON_NULL;
	json_open_value(&c, delta);
	json_enter_object(&c);
	while (json_next_key(&c, &key)) {
		struct json_value value = JSON_VALUE_NONE;

		json_read(&c, &value);
		is_idle &= idle && json_key_is(key, idle) &&
			   value.type == JSON_NULL;
	}
	return is_idle;
}

/* Look at one member of a choice; true: it is to be cut. */
static bool strip_choice_member(struct walk *w, struct span key,
				struct json_value value)
{
	const struct dialect *dialect = w->strip->dialect;
	const struct dialect_member *ids = find_member(
		dialect->choice_ids, ARRAY_LEN(dialect->choice_ids), key);

	if (json_key_is(key, "logprobs"))
		return strip_logprobs(w, value);
	if (ids && w->strip->token_ids)
		return take_out(w, ids, value);
	if (ids)
		w->foreign_tokens |= value.type != JSON_NULL;
	if (json_key_is(key, "finish_reason") && value.type != JSON_NULL)
		w->strip->finishes = w->kept_value = true;
	if (json_key_is(key, "delta") && !delta_is_idle(w, value))
		w->kept_value = true;
	return false;
}

static void strip_choice(struct walk *w)
{
	struct member_cutter cutter;
	struct span key;

	w->has_choice = true;
	json_enter_object(&w->c);
	cutter_begin(&cutter, &w->strip->splices, w->c.pos);
	while (json_next_key(&w->c, &key)) {
		struct json_value value;

		if (json_read(&w->c, &value))
			cutter_member(&cutter, offset_of(w, key), w->c.pos,
				      strip_choice_member(w, key, value));
	}
	cutter_end(&cutter);
}

static void strip_choices(struct walk *w)
{
	if (json_peek(&w->c) != JSON_ARRAY) {
		json_skip(&w->c);
		return;
	}
	json_enter_array(&w->c);
	while (json_next_item(&w->c)) {
		if (json_peek(&w->c) == JSON_OBJECT)
			strip_choice(w);
		else
			json_skip(&w->c);
	}
}

/* The agent may have asked for more of it. */
static bool is_ours(struct json_value sglext)
{
	struct json_cursor c;
	struct span key;
	bool ours = sglext.type == JSON_OBJECT;

	json_open_value(&c, sglext);
	json_enter_object(&c);
	while (json_next_key(&c, &key)) {
		ours &= json_key_is(key, "input_ids") ||
			json_key_is(key, "output_ids");
		json_skip(&c);
	}
	return ours;
}

/* Look at one member of the outermost object; true: it is to be cut. */
static bool strip_root_member(struct walk *w, struct span key,
			      struct json_value value)
{
	const struct dialect *dialect = w->strip->dialect;
	const struct dialect_member *ids = find_member(
		dialect->root_ids, ARRAY_LEN(dialect->root_ids), key);

	if (ids && w->strip->token_ids) {
		/* It comes beside a role, never in an event of its own. */
		bool removed = w->removed;
		bool cut = take_out(w, ids, value);

		w->removed = removed;
		return cut;
	}
	if (w->strip->sglext && json_key_is(key, "sglext")) {
		w->has_sglext = is_ours(value);
		return w->has_sglext;
	}
	if (json_key_is(key, "usage")) {
		w->has_usage = value.type == JSON_OBJECT;
		return w->strip->usage && value.type == JSON_NULL &&
		       dialect->usage_null_asked;
	}
	if (dialect->moved_member && json_key_is(key, dialect->moved_member))
		w->strip->moved = span_from(
			key.data,
			(size_t)(value.text.data + value.text.len - key.data));
	return false;
}

static void strip_root(struct walk *w)
{
	struct member_cutter cutter;
	struct span key;
	size_t choices_end = 0;

	json_enter_object(&w->c);
	cutter_begin(&cutter, &w->strip->splices, w->c.pos);
	while (json_next_key(&w->c, &key)) {
		struct json_value value;
		bool cut = false;

		if (json_key_is(key, "choices")) {
			strip_choices(w);
			choices_end = w->c.pos;
		} else if (json_read(&w->c, &value)) {
			cut = strip_root_member(w, key, value);
		}
		cutter_member(&cutter, offset_of(w, key), w->c.pos, cut);
	}
	cutter_end(&cutter);
	w->strip->moved_at = w->strip->dialect->moved_after_choices
				     ? choices_end
				     : w->c.pos - 1;
}

static void learn_dialect(struct strip *strip, struct span object)
{
	if (!strip->dialect || strip->dialect == &dialect_plain)
		strip->dialect = dialect_of_answer(object);
}

/* False: it is no JSON object, and nothing of it is known. */
static bool walk_object(struct walk *w, struct strip *strip, struct span object)
{
	splice_clear(&strip->splices);
	strip->finishes = false;
	strip->moved = SPAN_NONE;
	*w = (struct walk){ .strip = strip };
	json_open_indexed(&w->c, object, strip->index);
	if (json_peek(&w->c) != JSON_OBJECT)
		return false;
	learn_dialect(strip, object);
	strip_root(w);
	if (json_close(&w->c))
		return true;
	splice_clear(&strip->splices);
	return false;
}

enum strip_result strip_event(struct strip *strip, struct span data)
{
	struct walk w;

	if (!walk_object(&w, strip, data))
		return STRIP_KEEP;
	if (strip->usage && w.has_usage && !w.has_choice)
		return STRIP_DROP;
	strip->moved = SPAN_NONE;
	if (w.has_sglext && !w.has_usage && !w.has_choice)
		return STRIP_DROP;
	if (w.has_choice && w.removed && !w.kept_value && !w.has_usage &&
	    !w.foreign_tokens)
		return STRIP_DROP;
	return strip->splices.count ? STRIP_EDIT : STRIP_KEEP;
}

enum strip_result strip_response(struct strip *strip, struct span body)
{
	struct walk w;

	if (!walk_object(&w, strip, body) || !strip->splices.count)
		return STRIP_KEEP;
	return STRIP_EDIT;
}

void strip_release(struct strip *strip)
{
	splice_release(&strip->splices);
}

bool strip_moves_member(const struct strip *strip)
{
	return strip->usage && strip->dialect && strip->dialect->moved_member;
}
