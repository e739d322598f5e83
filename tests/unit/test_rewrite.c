/* Requests: what is changed, and that nothing else is. */
#include "proxy/rewrite.h"

#include <string.h>

#include "shared/json_scan.h"
#include "shared/json_text.h"
#include "tests/unit/generate.h"
#include "tests/unit/undo.h"
#include "tests/unit/vectors.h"

/* What every request gets without further options. */
static const struct rewrite_rules usual = { .top_logprobs = 5,
					    .token_ids = TOKEN_IDS_ON };

#define LOGPROBS "\"logprobs\":true,\"top_logprobs\":5"
#define ADDED    LOGPROBS ",\"return_token_ids\":true"

/* A request on its way: the plan, and the forwarded body. */
struct forwarded {
	struct guarded source;
	struct rewrite rw;
	struct buf body;
};

/* Plan and apply; the splices taken back give the agent's body. */
static void forward(struct forwarded *f, const struct rewrite_rules *rules,
		    struct span body)
{
	struct error err = ERROR_INIT;
	struct buf undone = test_buf();

	f->source = guard(body);
	f->body = test_buf();
	if (!rewrite_plan(&f->rw, rules, f->source.text, &err) ||
	    !splice_apply(&f->rw.splices, f->source.text, &f->body, &err))
		fail_msg("%s: %.*s", err.text, (int)body.len, body.data);
	assert_true(undo_splices(&f->rw.splices, body, buf_span(&f->body),
				 &undone));
	check_bytes("undone", buf_span(&undone), body);
	if (json_valid(body) != json_valid(buf_span(&f->body)))
		fail_msg("not JSON: %s", f->body.data);
	buf_release(&undone);
}

static void forwarded_release(struct forwarded *f)
{
	rewrite_release(&f->rw);
	buf_release(&f->body);
	guard_free(&f->source);
}

static void check_forwarded(const struct rewrite_rules *rules, struct span body,
			    const char *expected)
{
	struct forwarded f;

	forward(&f, rules, body);
	check_text(buf_span(&f.body), expected);
	forwarded_release(&f);
}

static void check_usual(const char *body, const char *expected)
{
	check_forwarded(&usual, span_of(body), expected);
}

static void test_rewrite__asks_for_tokens(void **state UNUSED)
{
	check_usual("{}", "{" ADDED "}");
	check_usual(" { } ", " {" ADDED " } ");
	check_usual("{\"model\":\"m\"}", "{" ADDED ",\"model\":\"m\"}");
	check_usual("{\n\"model\":\"m\"}", "{" ADDED ",\n\"model\":\"m\"}");
}

static void test_rewrite__what_is_asked_for_already_stays(void **state UNUSED)
{
	check_usual("{\"logprobs\":true}",
		    "{\"return_token_ids\":true,\"logprobs\":true}");
	check_usual("{\"logprobs\":true,\"return_token_ids\":true}",
		    "{\"logprobs\":true,\"return_token_ids\":true}");
	check_usual("{\"logprobs\":true,\"top_logprobs\":null,"
		    "\"return_token_ids\":true}",
		    "{\"logprobs\":true,\"top_logprobs\":null,"
		    "\"return_token_ids\":true}");
}

static void test_rewrite__another_value_is_replaced(void **state UNUSED)
{
	check_usual("{\"logprobs\" : false , \"return_token_ids\":null}",
		    "{\"top_logprobs\":5,\"logprobs\" : true , "
		    "\"return_token_ids\":true}");
	check_usual("{\"logprobs\":null,\"top_logprobs\":null}",
		    "{\"return_token_ids\":true,\"logprobs\":true,"
		    "\"top_logprobs\":5}");
	check_usual("{\"logprobs\":[\"x\"],\"top_logprobs\":3}",
		    "{\"return_token_ids\":true,\"logprobs\":true,"
		    "\"top_logprobs\":3}");
}

static void test_rewrite__token_ids_only_where_they_are_known(
	void **state UNUSED)
{
	const struct rewrite_rules rules = { .top_logprobs = 0 };

	check_forwarded(&rules, SPAN("{}"),
			"{\"logprobs\":true,\"top_logprobs\":0}");
	check_forwarded(&rules, SPAN("{\"return_token_ids\":false}"),
			"{\"logprobs\":true,\"top_logprobs\":0,"
			"\"return_token_ids\":false}");
}

static void test_rewrite__a_stream_reports_its_usage(void **state UNUSED)
{
	check_usual("{\"stream\":true}",
		    "{" ADDED ",\"stream_options\":{\"include_usage\":true},"
		    "\"stream\":true}");
	check_usual("{\"stream\":true,\"stream_options\":null}",
		    "{" ADDED ",\"stream\":true,"
		    "\"stream_options\":{\"include_usage\":true}}");
	check_usual("{\"stream\":true,\"stream_options\":{ }}",
		    "{" ADDED ",\"stream\":true,"
		    "\"stream_options\":{\"include_usage\":true }}");
	check_usual("{\"stream\":true,\"stream_options\":{\"a\":1}}",
		    "{" ADDED ",\"stream\":true,"
		    "\"stream_options\":{\"include_usage\":true,\"a\":1}}");
	check_usual("{\"stream\":true,"
		    "\"stream_options\":{\"include_usage\":false}}",
		    "{" ADDED ",\"stream\":true,"
		    "\"stream_options\":{\"include_usage\":true}}");
	check_usual("{\"stream\":true,"
		    "\"stream_options\":{\"include_usage\":true}}",
		    "{" ADDED ",\"stream\":true,"
		    "\"stream_options\":{\"include_usage\":true}}");
	check_usual("{\"stream\":false}", "{" ADDED ",\"stream\":false}");
	check_usual("{\"stream\":\"true\"}", "{" ADDED ",\"stream\":\"true\"}");
}

static void check_flags(const char *body, bool stream, bool logprobs, bool ids,
			bool added_usage)
{
	struct forwarded f;

	forward(&f, &usual, span_of(body));
	assert_int_equal(f.rw.stream, stream);
	assert_int_equal(rewrite_is_stream(span_of(body)), stream);
	assert_int_equal(f.rw.added_logprobs, logprobs);
	assert_int_equal(f.rw.added_token_ids, ids);
	assert_int_equal(f.rw.added_usage, added_usage);
	forwarded_release(&f);
}

static void test_rewrite__remembers_what_it_added(void **state UNUSED)
{
	check_flags("{}", false, true, true, false);
	check_flags("{\"stream\":true}", true, true, true, true);
	check_flags("{\"logprobs\":true}", false, false, true, false);
	check_flags("{\"logprobs\":true,\"logprobs\":false}", false, true, true,
		    false);
	check_flags("{\"return_token_ids\":true}", false, true, false, false);
	check_flags("{\"stream\":true,\"stream_options\":"
		    "{\"include_usage\":true}}",
		    true, true, true, false);
	check_flags("{\"stream\":true,\"stream_options\":"
		    "{\"include_usage\":true,\"include_usage\":null}}",
		    true, true, true, true);
	check_flags("{\"stream\":true,\"stream\":false}", false, true, true,
		    false);
}

static void check_cap(uint64_t cap, const char *body, const char *expected)
{
	const struct rewrite_rules rules = { .max_tokens_cap = cap };
	struct buf with = test_buf(), result = test_buf();

	putf(&with, "{\"logprobs\":true,%s}", body);
	putf(&result, "{\"logprobs\":true,%s}", expected);
	check_forwarded(&rules, buf_span(&with), result.data);
	buf_release(&with);
	buf_release(&result);
}

static void test_rewrite__max_tokens_are_capped(void **state UNUSED)
{
	check_cap(0, "\"max_tokens\":99999", "\"max_tokens\":99999");
	check_cap(10, "\"max_tokens\":10", "\"max_tokens\":10");
	check_cap(10, "\"max_tokens\":9.5", "\"max_tokens\":9.5");
	check_cap(10, "\"max_tokens\":11", "\"max_tokens\":10");
	check_cap(10, "\"max_tokens\":1e400", "\"max_tokens\":10");
	check_cap(10, "\"max_tokens\":9007199254740993", "\"max_tokens\":10");
	check_cap(10, "\"max_tokens\":\"99999\"", "\"max_tokens\":10");
	check_cap(10, "\"max_tokens\":{}", "\"max_tokens\":10");
	check_cap(10, "\"max_tokens\":null", "\"max_tokens\":10");
	check_cap(10, "\"max_completion_tokens\":11",
		  "\"max_completion_tokens\":10");
	check_cap(10, "\"max_tokens\":11,\"max_completion_tokens\":12",
		  "\"max_tokens\":10,\"max_completion_tokens\":10");
	check_cap(10, "\"max_tokens\":5,\"max_tokens\":11",
		  "\"max_tokens\":5,\"max_tokens\":10");
	check_cap(10,
		  "\"max_tokens\":0.000000000000000000000000000000000000000000"
		  "00000000000000000000000000001",
		  "\"max_tokens\":10");
}

static void test_rewrite__a_cap_is_set_where_there_was_none(void **state UNUSED)
{
	const struct rewrite_rules rules = { .top_logprobs = 5,
					     .max_tokens_cap = 7 };

	check_forwarded(&rules, SPAN("{\"a\":1}"),
			"{" LOGPROBS ",\"max_tokens\":7,\"a\":1}");
	check_forwarded(&rules, SPAN("{\"model\":\"openai/gpt-5\"}"),
			"{" LOGPROBS ",\"max_completion_tokens\":7,"
			"\"model\":\"openai/gpt-5\"}");
}

/* The models that refuse max_tokens get it under its new name. */
static void check_renamed(const char *model, bool renamed)
{
	struct rewrite_rules rules = { .model_override = model };
	struct forwarded f;

	forward(&f, &rules, SPAN("{\"logprobs\":true,\"max_tokens\":5}"));
	if (span_contains(buf_span(&f.body), "max_completion_tokens\":5") !=
		    renamed ||
	    span_contains(buf_span(&f.body), "\"max_tokens\"") == renamed)
		fail_msg("%s: %s", model, f.body.data);
	forwarded_release(&f);
}

static void test_rewrite__newer_models_know_max_completion_tokens(
	void **state UNUSED)
{
	check_renamed("gpt-5", true);
	check_renamed("gpt-5-mini", true);
	check_renamed("GPT-5", true);
	check_renamed("openai/gpt-5", true);
	check_renamed("a/b/o3-mini", true);
	check_renamed("o1", true);
	check_renamed("o4-mini", true);
	check_renamed("gpt-4o", false);
	check_renamed("gpt", false);
	check_renamed("o2", false);
	check_renamed("qwen3-8b", false);
	check_renamed("o3/llama", false);
	check_renamed("", false);
}

static void check_o3(const char *body, const char *expected)
{
	const struct rewrite_rules rules = { .max_tokens_cap = 10 };
	struct buf with = test_buf(), result = test_buf();

	putf(&with, "{\"logprobs\":true,\"model\":\"o3\"%s}", body);
	putf(&result, "{\"logprobs\":true,\"model\":\"o3\"%s}", expected);
	check_forwarded(&rules, buf_span(&with), result.data);
	buf_release(&with);
	buf_release(&result);
}

static void test_rewrite__the_old_name_does_not_stay(void **state UNUSED)
{
	check_o3(",\"max_tokens\":5", ",\"max_completion_tokens\":5");
	check_o3(",\"max_tokens\":50", ",\"max_completion_tokens\":10");
	check_o3(",\"max_tokens\":50,\"max_completion_tokens\":60",
		 ",\"max_completion_tokens\":10");
	check_o3(",\"max_completion_tokens\":60 , \"max_tokens\":5",
		 ",\"max_completion_tokens\":10");
	check_o3(",\"max_tokens\":1,\"a\":2,\"max_tokens\":5",
		 ",\"a\":2,\"max_completion_tokens\":5");
	check_o3(",\"max_tokens\":99,\"max_tokens\":5,"
		 "\"max_completion_tokens\":7",
		 ",\"max_completion_tokens\":7");
	check_o3(",\"max_tokens\":5,\"max_completion_tokens\":null",
		 ",\"max_completion_tokens\":5");
	check_o3(",\"max_completion_tokens\":3,\"max_completion_tokens\":"
		 "null,\"max_tokens\":50",
		 ",\"max_completion_tokens\":10");
}

static void test_rewrite__model_is_overridden(void **state UNUSED)
{
	const struct rewrite_rules rules = { .model_override = "a\"b\n\xC3\xA9",
					     .top_logprobs = 5 };
	struct forwarded f;

	check_forwarded(&rules, SPAN("{\"model\":\"m\"}"),
			"{" LOGPROBS ",\"model\":\"a\\\"b\\n\xC3\xA9\"}");
	check_forwarded(&rules, SPAN("{}"),
			"{" LOGPROBS ",\"model\":\"a\\\"b\\n\xC3\xA9\"}");
	check_forwarded(&rules, SPAN("{\"\\u006dodel\":1}"),
			"{" LOGPROBS ",\"\\u006dodel\":\"a\\\"b\\n\xC3\xA9\"}");
	forward(&f, &rules, SPAN("{\"model\":\"m\"}"));
	check_text(f.rw.model, "\"a\\\"b\\n\xC3\xA9\"");
	forwarded_release(&f);
	forward(&f, &usual, SPAN("{\"model\":\"m\"}"));
	check_text(f.rw.model, "\"m\"");
	forwarded_release(&f);
}

static void test_rewrite__too_long_a_model_is_told(void **state UNUSED)
{
	static char model[10000];
	const struct rewrite_rules rules = { .model_override = model };
	struct error err = ERROR_INIT;
	struct rewrite rw;

	memset(model, 'm', sizeof(model) - 1);
	assert_false(rewrite_plan(&rw, &rules, SPAN("{}"), &err));
	check_error(&err, ERROR_TOO_LARGE, "edits");
	rewrite_release(&rw);
}

static void test_rewrite__thinking_is_switched_off(void **state UNUSED)
{
	const struct rewrite_rules rules = { .disable_thinking = true };

	check_forwarded(&rules, SPAN("{\"logprobs\":true}"),
			"{\"chat_template_kwargs\":{\"enable_thinking\":false},"
			"\"logprobs\":true}");
	check_forwarded(&rules,
			SPAN("{\"logprobs\":true,\"chat_template_kwargs\":"
			     "{\"enable_thinking\":true,\"x\":{}}}"),
			"{\"logprobs\":true,\"chat_template_kwargs\":"
			"{\"enable_thinking\":false,\"x\":{}}}");
	check_forwarded(&rules,
			SPAN("{\"logprobs\":true,\"chat_template_kwargs\":"
			     "{\"enable_thinking\":false}}"),
			"{\"logprobs\":true,\"chat_template_kwargs\":"
			"{\"enable_thinking\":false}}");
}

static void check_sampling_report(const struct rewrite_rules *rules,
				  const char *body, const char *name,
				  const char *expected)
{
	struct json_value value;
	struct forwarded f;

	forward(&f, rules, span_of(body));
	assert_true(json_valid(buf_span(&f.rw.sampling)));
	assert_true(json_find(buf_span(&f.rw.sampling), name, &value));
	check_bytes(name, value.text, span_of(expected));
	forwarded_release(&f);
}

static void test_rewrite__sampling_is_set(void **state UNUSED)
{
	const struct rewrite_rules rules = {
		.top_logprobs = 5,
		.sampling = SPAN("{\"temperature\":1,\"seed\":"
				 "9007199254740993}"),
	};

	check_forwarded(&rules, SPAN("{\"temperature\":0.30000000000000004}"),
			"{" LOGPROBS ",\"seed\":9007199254740993,"
			"\"temperature\":1}");
	check_forwarded(&rules, SPAN("{\"temperature\":1,\"seed\":null}"),
			"{" LOGPROBS ",\"temperature\":1,"
			"\"seed\":9007199254740993}");
}

static void test_rewrite__reports_what_was_sampled_with(void **state UNUSED)
{
	const struct rewrite_rules rules = {
		.max_tokens_cap = 10,
		.sampling = SPAN("{\"temperature\":1}"),
	};
	static const char body[] = "{\"temperature\":2,\"top_p\":0.5,"
				   "\"top_k\":null,\"max_tokens\":9}";

	check_sampling_report(&rules, body, "temperature",
			      "{\"value\":1,\"source\":\"injected\"}");
	check_sampling_report(&rules, body, "top_p",
			      "{\"value\":0.5,\"source\":\"requested\"}");
	check_sampling_report(&rules, body, "top_k",
			      "{\"value\":null,\"source\":\"server\"}");
	check_sampling_report(&rules, body, "seed",
			      "{\"value\":null,\"source\":\"server\"}");
	check_sampling_report(&rules, body, "max_tokens",
			      "{\"value\":9,\"source\":\"requested\"}");
	check_sampling_report(&rules, "{\"max_completion_tokens\":11}",
			      "max_tokens",
			      "{\"value\":10,\"source\":\"injected\"}");
	check_sampling_report(&rules, "{}", "max_tokens",
			      "{\"value\":10,\"source\":\"injected\"}");
	check_sampling_report(&usual, "{}", "max_tokens",
			      "{\"value\":null,\"source\":\"server\"}");
}

/* --- Hostile requests. -------------------------------------------------- */

static void test_rewrite__only_the_outermost_members_count(void **state UNUSED)
{
	static const char tools[] =
		"\"tools\":[{\"function\":{\"parameters\":{\"properties\":{"
		"\"logprobs\":{\"type\":\"boolean\"},\"stream\":true,"
		"\"max_tokens\":99999,\"model\":\"x\"}}}}]";
	const struct rewrite_rules rules = { .top_logprobs = 5,
					     .max_tokens_cap = 10,
					     .model_override = "m" };
	struct buf body = test_buf(), expected = test_buf();

	putf(&body, "{%s}", tools);
	putf(&expected, "{" LOGPROBS ",\"model\":\"m\",\"max_tokens\":10,%s}",
	     tools);
	check_forwarded(&rules, buf_span(&body), expected.data);
	buf_release(&body);
	buf_release(&expected);
}

static void check_kept(struct span member)
{
	struct buf body = test_buf(), expected = test_buf();

	put(&body, SPAN("{"));
	put(&body, member);
	put(&body, SPAN("}"));
	put(&expected, SPAN("{" ADDED ","));
	put(&expected, span_after(buf_span(&body), 1));
	check_forwarded(&usual, buf_span(&body), expected.data);
	buf_release(&body);
	buf_release(&expected);
}

static void test_rewrite__what_a_parser_would_change_is_kept(
	void **state UNUSED)
{
	check_kept(SPAN("\"n\":9007199254740993"));
	check_kept(SPAN("\"n\":0.30000000000000004"));
	check_kept(SPAN("\"n\":1E400 , \"m\":-0.0"));
	check_kept(SPAN("\"messages\":[\"a\\u0000b\"]"));
	check_kept(SPAN("\"messages\":[\"\\ud800\",\"\\udc00x\"]"));
	check_kept(SPAN("\"a\":1,\"a\":2,\"A\":3"));
	check_kept(SPAN("\"a\\/b\" :\t\"\xE2\x80\xA8\x7F\""));
	check_kept(SPAN("\"not utf-8\":\"\xFF\xED\xA0\x80\""));
}

static void test_rewrite__five_megabytes_are_kept(void **state UNUSED)
{
	struct rng rng = rng_seeded(5);
	struct buf member = test_buf();

	put(&member, SPAN("\"messages\":["));
	while (member.len < 5u << 20) {
		gen_string(&rng, &member);
		put(&member, SPAN(",\n"));
	}
	put(&member, SPAN("\"\"]"));
	check_kept(buf_span(&member));
	buf_release(&member);
}

static void check_refused(struct span body)
{
	struct error err = ERROR_INIT;
	struct guarded g = guard(body);
	struct rewrite rw;

	if (rewrite_plan(&rw, &usual, g.text, &err))
		fail_msg("accepted: %.*s", (int)body.len, body.data);
	check_error(&err, ERROR_MALFORMED, "not a JSON object");
	assert_false(rewrite_is_stream(body));
	rewrite_release(&rw);
	guard_free(&g);
}

static void test_rewrite__what_is_no_object_is_refused(void **state UNUSED)
{
	struct buf deep = test_buf();

	check_refused(SPAN(""));
	check_refused(SPAN("{"));
	check_refused(SPAN("[]"));
	check_refused(SPAN("null"));
	check_refused(SPAN("{\"stream\":true,}"));
	check_refused(SPAN("{\"stream\":true} x"));
	check_refused(SPAN("\xEF\xBB\xBF{\"stream\":true}"));
	check_refused(SPAN("{\"stream\":true,'a':1}"));
	check_refused(SPAN("{\"a\":\"\n\",\"stream\":true}"));
	check_refused(SPAN("{\"a\":01,\"stream\":true}"));
	check_refused(SPAN("{\"stream\":true}\0"));
	check_refused(SPAN("{\"a\":NaN,\"stream\":true}"));
	put(&deep, SPAN("{\"stream\":true,\"a\":"));
	for (int i = 0; i < 5000; i++)
		put(&deep, SPAN("["));
	for (int i = 0; i < 5000; i++)
		put(&deep, SPAN("]"));
	put(&deep, SPAN("}"));
	check_refused(buf_span(&deep));
	buf_release(&deep);
}

static const char *const owned[] = {
	"stream",
	"stream_options",
	"logprobs",
	"top_logprobs",
	"return_token_ids",
	"model",
	"max_tokens",
	"max_completion_tokens",
	"chat_template_kwargs",
	"temperature",
	"seed",
	"n_probs",
	"return_input_ids_in_sglext",
	"return_output_ids_in_sglext",
};

static const char *const owned_values[] = {
	"true",
	"true",
	"false",
	"null",
	"5",
	"50",
	"4096.5",
	"1e400",
	"9007199254740993",
	"\"m\"",
	"\"gpt-5-mini\"",
	"\"openai\\/o3\"",
	"{}",
	"{ \"include_usage\" : false }",
	"{\"include_usage\":true}",
	"{\"a\":1,\"enable_thinking\":true}",
	"{\"include_usage\":true,\"include_usage\":0}",
};

static void gen_tools(struct rng *rng, struct buf *out)
{
	put(out, SPAN("[{\"type\":\"function\",\"function\":{\"parameters\":{"
		      "\"properties\":{\"logprobs\":"));
	gen_value(rng, out, 2);
	put(out, SPAN(",\"max_tokens\":"));
	gen_value(rng, out, 2);
	put(out, SPAN(",\"stream\":true,\"model\":\"o3\"}}}}]"));
}

static void gen_member(struct rng *rng, struct buf *out)
{
	bool ours = rng_one_in(rng, 2);
	bool tools = !ours && rng_one_in(rng, 3);

	gen_space(rng, out);
	if (ours)
		gen_key(rng, out, RNG_PICK(rng, owned));
	else if (tools)
		gen_key(rng, out, "tools");
	else
		gen_string(rng, out);
	gen_space(rng, out);
	put(out, SPAN(":"));
	gen_space(rng, out);
	if (ours && !rng_one_in(rng, 6))
		put(out, span_of(RNG_PICK(rng, owned_values)));
	else if (tools)
		gen_tools(rng, out);
	else
		gen_value(rng, out, 4);
	gen_space(rng, out);
}

static void gen_request(struct rng *rng, struct buf *out)
{
	gen_space(rng, out);
	put(out, SPAN("{"));
	for (size_t n = rng_below(rng, 12); n; n--) {
		gen_member(rng, out);
		put(out, n > 1 ? SPAN(",") : SPAN(""));
	}
	gen_space(rng, out);
	put(out, SPAN("}"));
	gen_space(rng, out);
}

static struct rewrite_rules gen_rules(struct rng *rng)
{
	static const char *const models[] = { NULL, NULL, "m", "gpt-5" };

	return (struct rewrite_rules){
		.top_logprobs = rng_below(rng, 6),
		.token_ids = rng_one_in(rng, 2) ? TOKEN_IDS_ON : TOKEN_IDS_OFF,
		.max_tokens_cap =
			rng_one_in(rng, 2) ? 1 + rng_below(rng, 100) : 0,
		.disable_thinking = rng_one_in(rng, 3),
		.model_override = RNG_PICK(rng, models),
		.sampling = rng_one_in(rng, 3)
				    ? SPAN("{\"seed\":1, \"temperature\":0.5}")
				    : SPAN_NONE,
	};
}

static struct json_value member(struct span object, const char *name)
{
	struct json_value value = JSON_VALUE_NONE;

	json_find(object, name, &value);
	return value;
}

static bool is_set(struct json_value value)
{
	return value.type != JSON_NONE && value.type != JSON_NULL;
}

static bool is_owned(struct span key)
{
	for (size_t i = 0; i < ARRAY_LEN(owned); i++)
		if (json_key_is(key, owned[i]))
			return true;
	return false;
}

/* The members that the proxy has no business with, one after the other. */
static void foreign_members(struct span object, struct buf *out)
{
	struct json_value value;
	struct json_cursor c;
	struct span key;

	json_open(&c, object);
	json_enter_object(&c);
	while (json_next_key(&c, &key) && json_read(&c, &value))
		if (!is_owned(key)) {
			put(out, key);
			put(out, SPAN(":"));
			put(out, value.text);
			put(out, SPAN(";"));
		}
	assert_true(json_close(&c));
}

static void check_foreign_members(struct span before, struct span after)
{
	struct buf was = test_buf(), is = test_buf();

	foreign_members(before, &was);
	foreign_members(after, &is);
	check_bytes("foreign members", buf_span(&is), buf_span(&was));
	buf_release(&was);
	buf_release(&is);
}

static size_t count_members(struct span object, const char *name)
{
	struct json_cursor c;
	struct span key;
	size_t count = 0;

	json_open(&c, object);
	json_enter_object(&c);
	while (json_next_key(&c, &key)) {
		count += json_key_is(key, name);
		json_skip(&c);
	}
	return count;
}

static void check_logprobs_promise(const struct rewrite_rules *rules,
				   struct span before,
				   const struct forwarded *f)
{
	struct span after = buf_span(&f->body);
	struct json_value top = member(before, "top_logprobs");
	bool asked = member(before, "logprobs").type == JSON_TRUE;
	uint64_t number;

	assert_int_equal(member(after, "logprobs").type, JSON_TRUE);
	assert_int_equal(f->rw.added_logprobs, !asked);
	if (asked || is_set(top)) {
		check_bytes("top_logprobs", member(after, "top_logprobs").text,
			    top.text);
		return;
	}
	assert_true(json_to_u64(member(after, "top_logprobs"), &number));
	assert_int_equal(number, rules->top_logprobs);
}

static void check_usage_promise(struct span before, const struct forwarded *f)
{
	struct json_value asked =
		member(member(before, "stream_options").text, "include_usage");
	struct json_value given =
		member(member(buf_span(&f->body), "stream_options").text,
		       "include_usage");

	assert_int_equal(f->rw.stream,
			 member(before, "stream").type == JSON_TRUE);
	if (f->rw.stream)
		assert_int_equal(given.type, JSON_TRUE);
	assert_int_equal(f->rw.added_usage,
			 f->rw.stream && asked.type != JSON_TRUE);
}

static void check_cap_promise(uint64_t cap, struct span after)
{
	static const char *const names[] = { "max_tokens",
					     "max_completion_tokens" };
	bool any = false;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct json_value value = member(after, names[i]);
		double number;

		if (!is_set(value))
			continue;
		any = true;
		assert_true(json_to_double(value, &number));
		assert_true(number <= (double)cap);
	}
	assert_true(any);
}

static void check_rename_promise(struct span before, struct span after)
{
	struct json_value model = member(after, "model");

	if ((json_string_starts_with(model, "gpt-5") ||
	     json_string_starts_with(model, "openai/o3")) &&
	    is_set(member(before, "max_tokens")))
		assert_int_equal(count_members(after, "max_tokens"), 0);
}

static void check_other_promises(const struct rewrite_rules *rules,
				 struct span before, struct span after)
{
	if (rules->token_ids)
		assert_int_equal(member(after, "return_token_ids").type,
				 JSON_TRUE);
	if (rules->max_tokens_cap)
		check_cap_promise(rules->max_tokens_cap, after);
	if (rules->model_override)
		assert_true(json_string_is(member(after, "model"),
					   rules->model_override));
	if (rules->disable_thinking)
		assert_int_equal(
			member(member(after, "chat_template_kwargs").text,
			       "enable_thinking")
				.type,
			JSON_FALSE);
	if (rules->sampling.len) {
		check_text(member(after, "seed").text, "1");
		check_text(member(after, "temperature").text, "0.5");
	}
	check_rename_promise(before, after);
}

static void test_rewrite__generated_requests(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 5000; seed++) {
		struct rng rng = rng_seeded(seed);
		struct rewrite_rules rules = gen_rules(&rng);
		struct buf body = test_buf();
		struct forwarded f;

		gen_request(&rng, &body);
		forward(&f, &rules, buf_span(&body));
		assert_true(json_valid(buf_span(&f.rw.sampling)));
		check_foreign_members(buf_span(&body), buf_span(&f.body));
		check_logprobs_promise(&rules, buf_span(&body), &f);
		check_usage_promise(buf_span(&body), &f);
		check_other_promises(&rules, buf_span(&body),
				     buf_span(&f.body));
		forwarded_release(&f);
		buf_release(&body);
	}
}

/* --- What a model refused before. --------------------------------------- */

#define SET(addition) (1u << ADDITION_##addition)

/* A plan for model "m", which refused these. */
static void forward_refused(struct forwarded *f, struct rewrite_rules rules,
			    unsigned refused, struct span body)
{
	struct refusals refusals = { 0 };

	for (enum addition a = 0; a < ADDITION_COUNT; a++)
		if (refused & 1u << a)
			refusals_add(&refusals, SPAN("\"m\""), a);
	rules.refusals = &refusals;
	rules.model_override = "m";
	forward(f, &rules, body);
	f->rw.left_out = refused;
	refusals_release(&refusals);
}

static void check_limit(unsigned refused, const char *limit,
			const char *expected, unsigned added)
{
	const struct rewrite_rules rules = { .max_tokens_cap = 7 };
	struct buf body = test_buf(), result = test_buf();
	struct forwarded f;

	putf(&body, "{%s\"model\":\"m\",\"logprobs\":true}", limit);
	putf(&result, "{%s\"model\":\"m\",\"logprobs\":true}", expected);
	forward_refused(&f, rules, refused, buf_span(&body));
	check_bytes(limit, buf_span(&f.body), buf_span(&result));
	assert_int_equal(f.rw.added, added);
	forwarded_release(&f);
	buf_release(&body);
	buf_release(&result);
}

static void test_rewrite__a_refused_limit_has_another_name(void **state UNUSED)
{
	const unsigned both = SET(MAX_TOKENS) | SET(MAX_COMPLETION_TOKENS);

	check_limit(0, "", "\"max_tokens\":7,", SET(MAX_TOKENS));
	check_limit(SET(MAX_TOKENS), "", "\"max_completion_tokens\":7,",
		    SET(MAX_COMPLETION_TOKENS));
	check_limit(SET(MAX_TOKENS), "\"max_tokens\":9,",
		    "\"max_completion_tokens\":7,", SET(MAX_COMPLETION_TOKENS));
	check_limit(both, "", "", 0);
	check_limit(both, "\"max_tokens\":9,", "\"max_tokens\":7,", 0);
	check_limit(both, "\"max_completion_tokens\":3,",
		    "\"max_completion_tokens\":3,", 0);
}

/* No rule but the one for this addition edits its member. */
static bool is_alone(enum addition addition)
{
	return addition != ADDITION_LOGPROBS_WITH_TOOLS &&
	       addition != ADDITION_TOKEN_IDS_OF_STREAM &&
	       addition != ADDITION_MAX_TOKENS &&
	       addition != ADDITION_MAX_COMPLETION_TOKENS &&
	       addition != ADDITION_USAGE;
}

/* The member is as the agent has it. */
static void check_left_alone(struct span before, struct span after,
			     const char *name)
{
	check_bytes(name, member(after, name).text, member(before, name).text);
}

/* Whatever was refused is not asked for again, by any dialect. */
static void test_rewrite__generated_refusals(void **state UNUSED)
{
	static const char *const dialects[] = { "openai", "vllm", "sglang",
						"llamacpp", "plain" };

	for (uint64_t seed = 0; seed < 5000; seed++) {
		struct rng rng = rng_seeded(seed);
		struct rewrite_rules rules = gen_rules(&rng);
		unsigned refused =
			(unsigned)rng_next(&rng) & ((1u << ADDITION_COUNT) - 1);
		struct buf body = test_buf();
		struct forwarded f;

		rules.token_ids = TOKEN_IDS_AUTO;
		if (seed % 6)
			rules.dialect = dialect_by_name(dialects[seed % 6 - 1]);
		gen_request(&rng, &body);
		forward_refused(&f, rules, refused, buf_span(&body));
		assert_int_equal(f.rw.added & refused, 0);
		check_foreign_members(buf_span(&body), buf_span(&f.body));
		for (enum addition a = 0; a < ADDITION_COUNT; a++)
			if (refused & 1u << a && is_alone(a))
				check_left_alone(buf_span(&body),
						 buf_span(&f.body),
						 addition_name(a));
		forwarded_release(&f);
		buf_release(&body);
	}
}

/* Asking twice changes nothing any more. */
static void test_rewrite__the_forwarded_body_needs_no_edit(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 1000; seed++) {
		struct rng rng = rng_seeded(seed);
		struct rewrite_rules rules = gen_rules(&rng);
		struct buf body = test_buf();
		struct forwarded once, twice;

		gen_request(&rng, &body);
		forward(&once, &rules, buf_span(&body));
		forward(&twice, &rules, buf_span(&once.body));
		check_bytes("twice", buf_span(&twice.body),
			    buf_span(&once.body));
		forwarded_release(&once);
		forwarded_release(&twice);
		buf_release(&body);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rewrite__asks_for_tokens),
		cmocka_unit_test(test_rewrite__what_is_asked_for_already_stays),
		cmocka_unit_test(test_rewrite__another_value_is_replaced),
		cmocka_unit_test(
			test_rewrite__token_ids_only_where_they_are_known),
		cmocka_unit_test(test_rewrite__a_stream_reports_its_usage),
		cmocka_unit_test(test_rewrite__remembers_what_it_added),
		cmocka_unit_test(test_rewrite__max_tokens_are_capped),
		cmocka_unit_test(
			test_rewrite__a_cap_is_set_where_there_was_none),
		cmocka_unit_test(
			test_rewrite__newer_models_know_max_completion_tokens),
		cmocka_unit_test(test_rewrite__the_old_name_does_not_stay),
		cmocka_unit_test(test_rewrite__model_is_overridden),
		cmocka_unit_test(test_rewrite__too_long_a_model_is_told),
		cmocka_unit_test(test_rewrite__thinking_is_switched_off),
		cmocka_unit_test(test_rewrite__sampling_is_set),
		cmocka_unit_test(test_rewrite__reports_what_was_sampled_with),
		cmocka_unit_test(
			test_rewrite__only_the_outermost_members_count),
		cmocka_unit_test(
			test_rewrite__what_a_parser_would_change_is_kept),
		cmocka_unit_test(test_rewrite__five_megabytes_are_kept),
		cmocka_unit_test(test_rewrite__what_is_no_object_is_refused),
		cmocka_unit_test(test_rewrite__generated_requests),
		cmocka_unit_test(
			test_rewrite__a_refused_limit_has_another_name),
		cmocka_unit_test(test_rewrite__generated_refusals),
		cmocka_unit_test(
			test_rewrite__the_forwarded_body_needs_no_edit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
