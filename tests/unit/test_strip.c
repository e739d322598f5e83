/* Taking out of answers what is there only because the proxy asked for it. */
#include "proxy/strip.h"

#include <string.h>

#include "shared/json_scan.h"
#include "tests/unit/generate.h"
#include "tests/unit/undo.h"
#include "tests/unit/vectors.h"

/* As after a request to which everything was added. */
static const struct strip everything = { .logprobs = true,
					 .token_ids = true,
					 .usage = true };

/* The edited text; an edit takes nothing else out. */
static void edit(const struct strip *strip, struct span source, struct buf *out)
{
	struct buf undone = test_buf();
	struct error err;

	assert_true(splice_apply(&strip->splices, source, out, &err));
	assert_true(
		undo_splices(&strip->splices, source, buf_span(out), &undone));
	check_bytes("undone", buf_span(&undone), source);
	buf_release(&undone);
}

/* What the agent gets of an event; NULL: it does not get it. */
static void check_next(struct strip *strip, struct span data,
		       const char *expected)
{
	struct guarded g = guard(data);
	struct buf out = test_buf();
	enum strip_result result = strip_event(strip, g.text);

	if (result == STRIP_EDIT)
		edit(strip, g.text, &out);
	else if (result == STRIP_KEEP)
		put(&out, data);
	if ((result == STRIP_DROP) != !expected)
		fail_msg("%.*s: %s", (int)data.len, data.data,
			 expected ? "dropped" : "not dropped");
	if (expected)
		check_bytes(data.data, buf_span(&out), span_of(expected));
	buf_release(&out);
	guard_free(&g);
}

static void check_event(struct strip strip, const char *data,
			const char *expected)
{
	check_next(&strip, span_of(data), expected);
	strip_release(&strip);
}

#define VLLM "\"kv_transfer_params\":null"

static void test_strip__vllm_prints_null_unasked(void **state UNUSED)
{
	check_event(everything,
		    "{\"choices\":[{\"delta\":{\"content\":\"a\"},"
		    "\"logprobs\":{\"content\":[]},\"token_ids\":[1]}],"
		    "\"prompt_token_ids\":[1]," VLLM "}",
		    "{\"choices\":[{\"delta\":{\"content\":\"a\"},"
		    "\"logprobs\":null,\"token_ids\":null}],"
		    "\"prompt_token_ids\":null," VLLM "}");
	check_event(everything,
		    "{\"choices\":[{\"delta\":{\"content\":\"a\"},"
		    "\"logprobs\":null,\"token_ids\":null}]}",
		    "{\"choices\":[{\"delta\":{\"content\":\"a\"},"
		    "\"logprobs\":null,\"token_ids\":null}]}");
}

static void test_strip__llamacpp_prints_nothing_unasked(void **state UNUSED)
{
	check_event(everything,
		    "{\"choices\":[{\"finish_reason\":null,\"index\":0,"
		    "\"delta\":{\"content\":\"a\"},\"logprobs\":{}}],"
		    "\"created\":1}",
		    "{\"choices\":[{\"finish_reason\":null,\"index\":0,"
		    "\"delta\":{\"content\":\"a\"}}],\"created\":1}");
}

static void test_strip__sglang_cuts_ids_and_nulls_logprobs(void **state UNUSED)
{
	check_event(everything,
		    "{\"id\":1,\"choices\":[{\"delta\":{\"content\":\"a\"},"
		    "\"logprobs\":{},\"matched_stop\":null,"
		    "\"prompt_token_ids\":[1],\"response_token_ids\":[2]}]}",
		    "{\"id\":1,\"choices\":[{\"delta\":{\"content\":\"a\"},"
		    "\"logprobs\":null,\"matched_stop\":null}]}");
}

static void test_strip__openai_prints_no_usage_unasked(void **state UNUSED)
{
	check_event(everything,
		    "{\"id\":1,\"service_tier\":\"x\",\"choices\":[{\"delta\":{"
		    "\"content\":\"a\"},\"logprobs\":{},\"finish_reason\":null}"
		    "],\"usage\":null,\"obfuscation\":\"y\"}",
		    "{\"id\":1,\"service_tier\":\"x\",\"choices\":[{\"delta\":{"
		    "\"content\":\"a\"},\"logprobs\":null,\"finish_reason\":"
		    "null}],\"obfuscation\":\"y\"}");
}

static void test_strip__an_unknown_server_is_learnt(void **state UNUSED)
{
	struct strip strip = everything;

	check_next(&strip,
		   SPAN("{\"id\":1,\"choices\":[{\"delta\":{\"content\":\"a\"},"
			"\"logprobs\":{}}]}"),
		   "{\"id\":1,\"choices\":[{\"delta\":{\"content\":\"a\"}}]}");
	check_next(&strip,
		   SPAN("{\"id\":1,\"choices\":[{\"delta\":{\"content\":\"a\"},"
			"\"logprobs\":null}]}"),
		   "{\"id\":1,\"choices\":[{\"delta\":{\"content\":\"a\"},"
		   "\"logprobs\":null}]}");
	check_next(&strip,
		   SPAN("{\"id\":1,\"choices\":[{\"delta\":{\"content\":\"a\"},"
			"\"logprobs\":{}}]}"),
		   "{\"id\":1,\"choices\":[{\"delta\":{\"content\":\"a\"},"
		   "\"logprobs\":null}]}");
	strip_release(&strip);
}

static void test_strip__what_the_agent_asked_for_stays(void **state UNUSED)
{
	static const char event[] =
		"{\"choices\":[{\"delta\":{},\"logprobs\":{\"content\":[]},"
		"\"token_ids\":[1]}],\"prompt_token_ids\":[1],\"usage\":null}";
	static const char ids_cut[] =
		"{\"choices\":[{\"delta\":{},\"logprobs\":{\"content\":[]},"
		"\"token_ids\":null}],\"prompt_token_ids\":null,"
		"\"usage\":null}";

	check_event((struct strip){ 0 }, event, event);
	check_event((struct strip){ .token_ids = true }, event, ids_cut);
}

static void test_strip__events_of_tokens_only_are_dropped(void **state UNUSED)
{
	check_event(everything,
		    "{\"choices\":[{\"delta\":{},\"logprobs\":{},"
		    "\"token_ids\":[1]}]," VLLM "}",
		    NULL);
	check_event(everything,
		    "{\"choices\":[{\"delta\":null,\"token_ids\":[1]}]," VLLM
		    "}",
		    NULL);
	check_event(
		everything,
		"{\"choices\":[{\"delta\":{},\"token_ids\":null}]," VLLM "}",
		"{\"choices\":[{\"delta\":{},\"token_ids\":null}]," VLLM "}");
	check_event(everything,
		    "{\"id\":1,\"choices\":[{\"delta\":{\"reasoning_content\":"
		    "null},\"logprobs\":{},\"matched_stop\":null}]}",
		    NULL);
	check_event(everything,
		    "{\"choices\":[{\"delta\":{\"reasoning_content\":null},"
		    "\"token_ids\":[1]}]," VLLM "}",
		    "{\"choices\":[{\"delta\":{\"reasoning_content\":null},"
		    "\"token_ids\":null}]," VLLM "}");
}

static void test_strip__an_event_with_any_value_is_not_dropped(
	void **state UNUSED)
{
	check_event(everything,
		    "{\"choices\":[{\"delta\":{},\"token_ids\":[1],"
		    "\"finish_reason\":\"stop\"}]}",
		    "{\"choices\":[{\"delta\":{},\"token_ids\":null,"
		    "\"finish_reason\":\"stop\"}]}");
	check_event(everything,
		    "{\"choices\":[{\"delta\":{},\"token_ids\":[1]},"
		    "{\"delta\":{\"content\":\"\"},\"token_ids\":[1]}]}",
		    "{\"choices\":[{\"delta\":{},\"token_ids\":null},"
		    "{\"delta\":{\"content\":\"\"},\"token_ids\":null}]}");
	check_event(everything,
		    "{\"choices\":[{\"delta\":{},\"token_ids\":[1]}],"
		    "\"usage\":{}}",
		    "{\"choices\":[{\"delta\":{},\"token_ids\":null}],"
		    "\"usage\":{}}");
	check_event(everything, "{\"id\":1,\"error\":{\"message\":\"x\"}}",
		    "{\"id\":1,\"error\":{\"message\":\"x\"}}");
}

static void test_strip__the_usage_event_is_dropped(void **state UNUSED)
{
	const struct strip not_asked = { .logprobs = true, .token_ids = true };
	static const char event[] = "{\"id\":1,\"choices\":[],\"usage\":{}}";

	check_event(everything, event, NULL);
	check_event(not_asked, event, event);
}

static void test_strip__what_is_no_object_is_kept(void **state UNUSED)
{
	static const char *const texts[] = {
		"",
		"[DONE]",
		"null",
		"{",
		"{\"choices\":[{\"token_ids\":[1]}]",
		"{\"choices\":[{\"token_ids\":[1],}]}",
		"{\"choices\":[{\"logprobs\":{}}]}}",
		"{\"choices\":[{\"logprobs\":{}}],\"usage\":nul}",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		check_event(everything, texts[i], texts[i]);
}

static void test_strip__names_elsewhere_are_no_members(void **state UNUSED)
{
	static const char event[] =
		"{\"id\":\"\\\"logprobs\\\":{}\",\"choices\":[{\"delta\":{"
		"\"content\":\"\\\",\\\"token_ids\\\":[1]\",\"logprobs\":1,"
		"\"token_ids\":[1],\"usage\":null}}],\"x\":{\"usage\":null}}";

	check_event(everything, event, event);
}

static void test_strip__escaped_names_are_members(void **state UNUSED)
{
	check_event(everything,
		    "{\"choices\":[{\"delta\":{\"content\":\"a\"},"
		    "\"\\u006cogprobs\":{},\"token\\u005fids\":[1]}]}",
		    "{\"choices\":[{\"delta\":{\"content\":\"a\"},"
		    "\"\\u006cogprobs\":null,\"token\\u005fids\":null}]}");
}

static void test_strip__whole_bodies_are_edited_alike(void **state UNUSED)
{
	static const char body[] =
		"{\"choices\": [{\"message\": {}, \"logprobs\": {}, "
		"\"token_ids\": [1]}], \"prompt_token_ids\": [1, 2], "
		"\"usage\": {}}";
	struct strip strip = everything;
	struct buf out = test_buf();

	assert_int_equal(strip_response(&strip, SPAN(body)), STRIP_EDIT);
	edit(&strip, SPAN(body), &out);
	check_text(buf_span(&out),
		   "{\"choices\": [{\"message\": {}, \"logprobs\": null, "
		   "\"token_ids\": null}], \"prompt_token_ids\": null, "
		   "\"usage\": {}}");
	assert_int_equal(strip_response(&strip, SPAN("{\"a\":1}")), STRIP_KEEP);
	assert_int_equal(strip_response(&strip, SPAN("oops")), STRIP_KEEP);
	strip_release(&strip);
	buf_release(&out);
}

/* --- The member that include_usage moves. ------------------------------- */

static void test_strip__moved_member_is_told(void **state UNUSED)
{
	struct strip strip = everything;

	assert_int_equal(
		strip_event(&strip,
			    SPAN("{\"id\":1,\"choices\":[]," VLLM
				 ",\"usage\":{},\"system_fingerprint\" : "
				 "\"x\" }")),
		STRIP_DROP);
	assert_true(strip_moves_member(&strip));
	check_text(strip.moved, "\"system_fingerprint\" : \"x\"");
	check_next(&strip, SPAN("{\"id\":1,\"choices\":[],\"usage\":{}}"),
		   NULL);
	assert_int_equal(strip.moved.len, 0);
	strip_release(&strip);
}

/* Where a finishing event would take the member in, marked by a ^. */
static void check_place(const char *event, const char *expected)
{
	struct strip strip = everything;
	struct buf out = test_buf(), marked = test_buf();
	size_t behind, at;

	assert_int_not_equal(strip_event(&strip, span_of(event)), STRIP_DROP);
	assert_true(strip.finishes);
	edit(&strip, span_of(event), &out);
	behind = splice_length_from(&strip.splices, strlen(event),
				    strip.moved_at);
	assert_true(behind <= out.len);
	at = out.len - behind;
	put(&marked, span_from(out.data, at));
	put(&marked, SPAN("^"));
	put(&marked, span_after(buf_span(&out), at));
	check_text(buf_span(&marked), expected);
	strip_release(&strip);
	buf_release(&out);
	buf_release(&marked);
}

static void test_strip__moved_member_has_its_place(void **state UNUSED)
{
	check_place("{\"id\":1,\"choices\":[{\"finish_reason\":\"stop\","
		    "\"token_ids\":[1]}]," VLLM "}",
		    "{\"id\":1,\"choices\":[{\"finish_reason\":\"stop\","
		    "\"token_ids\":null}]^," VLLM "}");
	check_place("{\"choices\":[{\"finish_reason\":\"stop\"}],\"a\":1 }",
		    "{\"choices\":[{\"finish_reason\":\"stop\"}],\"a\":1 ^}");
}

/* Edits behind the place must not shift it. */
static void test_strip__place_holds_when_more_is_edited(void **state UNUSED)
{
	check_place("{\"choices\":[{\"finish_reason\":\"stop\",\"token_ids\":"
		    "[1]}],\"prompt_token_ids\":[1,2,3,4,5,6,7,8],\"a\":1}",
		    "{\"choices\":[{\"finish_reason\":\"stop\",\"token_ids\":"
		    "null}]^,\"prompt_token_ids\":null,\"a\":1}");
	check_place("{\"prompt_token_ids\":[1,2,3],\"choices\":[{"
		    "\"finish_reason\":\"stop\"}],\"prompt_token_ids\":[1]}",
		    "{\"prompt_token_ids\":null,\"choices\":[{"
		    "\"finish_reason\":\"stop\"}]^,\"prompt_token_ids\":null}");
}

/* --- Generated events. -------------------------------------------------- */

/* What a server prints of what was asked for, and unasked. */
struct server {
	const char *sign;        /* a member of the outermost object */
	const char *choice_sign; /* of a choice */
	bool logprobs_null;
	bool ids_null;
	bool usage_null; /* in each event, when include_usage is set */
	const char *choice_ids, *root_ids; /* NULL: it has none */
	bool choices_first;
};

static const struct server servers[] = {
	{ .sign = "\"kv_transfer_params\":null",
	  .logprobs_null = true,
	  .ids_null = true,
	  .choice_ids = "token_ids",
	  .root_ids = "prompt_token_ids" },
	{ .choice_sign = "\"matched_stop\":null",
	  .logprobs_null = true,
	  .choice_ids = "response_token_ids" },
	{ .sign = "\"service_tier\":\"default\"",
	  .logprobs_null = true,
	  .usage_null = true },
	{ .choices_first = true },
};

/* Members in some order; `plain` leaves out what only asking brings. */
struct printer {
	struct rng rng;   /* for what is there either way */
	struct rng extra; /* for what asking brings */
	const struct server *server;
	bool asked;
	bool any; /* a member was printed already */
	struct buf *out;
};

static void print_member(struct printer *p, const char *member)
{
	put(p->out, span_of(p->any ? "," : ""));
	put(p->out, span_of(member));
	p->any = true;
}

/* A member that was asked for: its value, else null, else nothing. */
static void print_asked(struct printer *p, const char *name, bool null_unasked)
{
	if (!name || (!p->asked && !null_unasked))
		return;
	print_member(p, "");
	putf(p->out, "\"%s\":", name);
	if (p->asked)
		gen_value(&p->extra, p->out, 3);
	else
		put(p->out, SPAN("null"));
}

static void print_choice_member(struct printer *p, size_t which)
{
	switch (which) {
	case 0:
		print_asked(p, "logprobs", p->server->logprobs_null);
		break;
	case 1:
		print_asked(p, p->server->choice_ids, p->server->ids_null);
		break;
	case 2:
		print_member(p, "\"delta\":{\"content\":");
		gen_string(&p->rng, p->out);
		put(p->out, SPAN("}"));
		break;
	case 3:
		print_member(p, "\"index\":0");
		break;
	default:
		if (p->server->choice_sign)
			print_member(p, p->server->choice_sign);
		break;
	}
}

static void print_choice(struct printer *p)
{
	size_t order[] = { 0, 1, 2, 3, 4 };
	bool any = p->any;

	put(p->out, SPAN("{"));
	p->any = false;
	rng_shuffle(&p->rng, order, ARRAY_LEN(order));
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		print_choice_member(p, order[i]);
	put(p->out, SPAN("}"));
	p->any = any;
}

static void print_root_member(struct printer *p, size_t which)
{
	switch (which) {
	case 0:
		print_member(p, "\"choices\":[");
		print_choice(p);
		if (rng_one_in(&p->rng, 3)) {
			put(p->out, SPAN(","));
			print_choice(p);
		}
		put(p->out, SPAN("]"));
		break;
	case 1:
		print_asked(p, p->server->root_ids, p->server->ids_null);
		break;
	case 2:
		if (p->server->usage_null && p->asked)
			print_member(p, "\"usage\":null");
		break;
	case 3:
		print_member(p, "\"other\":");
		gen_value(&p->rng, p->out, 3);
		break;
	default:
		if (p->server->sign)
			print_member(p, p->server->sign);
		break;
	}
}

static void print_event(uint64_t seed, bool asked, struct buf *out)
{
	size_t order[] = { 0, 1, 2, 3, 4 };
	struct printer p = {
		.rng = rng_seeded(seed),
		.extra = rng_seeded(~seed),
		.server = &servers[seed % ARRAY_LEN(servers)],
		.asked = asked,
		.out = out,
	};
	size_t fixed = p.server->choices_first ? 1 : 0;

	if (!fixed)
		print_member(&p, "\"id\":1");
	rng_shuffle(&p.rng, order + fixed, ARRAY_LEN(order) - fixed);
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		print_root_member(&p, order[i]);
}

static void test_strip__generated_events(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 4000; seed++) {
		struct buf asked = test_buf(), plain = test_buf();

		put(&asked, SPAN("{"));
		put(&plain, SPAN("{"));
		print_event(seed, true, &asked);
		print_event(seed, false, &plain);
		put(&asked, SPAN("}"));
		put(&plain, SPAN("}"));
		assert_true(json_valid(buf_span(&plain)));
		check_event(everything, asked.data, plain.data);
		buf_release(&asked);
		buf_release(&plain);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strip__vllm_prints_null_unasked),
		cmocka_unit_test(test_strip__llamacpp_prints_nothing_unasked),
		cmocka_unit_test(
			test_strip__sglang_cuts_ids_and_nulls_logprobs),
		cmocka_unit_test(test_strip__openai_prints_no_usage_unasked),
		cmocka_unit_test(test_strip__an_unknown_server_is_learnt),
		cmocka_unit_test(test_strip__what_the_agent_asked_for_stays),
		cmocka_unit_test(test_strip__events_of_tokens_only_are_dropped),
		cmocka_unit_test(
			test_strip__an_event_with_any_value_is_not_dropped),
		cmocka_unit_test(test_strip__the_usage_event_is_dropped),
		cmocka_unit_test(test_strip__what_is_no_object_is_kept),
		cmocka_unit_test(test_strip__names_elsewhere_are_no_members),
		cmocka_unit_test(test_strip__escaped_names_are_members),
		cmocka_unit_test(test_strip__whole_bodies_are_edited_alike),
		cmocka_unit_test(test_strip__moved_member_is_told),
		cmocka_unit_test(test_strip__moved_member_has_its_place),
		cmocka_unit_test(test_strip__place_holds_when_more_is_edited),
		cmocka_unit_test(test_strip__generated_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
