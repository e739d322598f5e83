/* What is recorded of an answer. */
#include "proxy/assemble.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/answer.h"
#include "shared/json_scan.h"
#include "shared/json_text.h"
#include "shared/limits.h"
#include "shared/mem.h"
#include "tests/unit/vectors.h"

#define WIRE     "tests/data/wire"
#define EXPECTED "tests/data/expected"

#define START_US 1000000

/* Pieces of answers, assembled; end() gives the turn. */
struct assembly {
	struct assembler a;
	struct turn turn;
};

static void begin(struct assembly *s)
{
	*s = (struct assembly){ .turn = { .kind = TURN_AGENT } };
	assemble_init(&s->a, START_US);
}

static void event(struct assembly *s, const char *data)
{
	struct guarded g = guard(span_of(data));
	struct error err = ERROR_INIT;

	if (!assemble_event(&s->a, g.text, START_US + 5000, &err))
		fail_msg("%s", err.text);
	guard_free(&g);
}

static void whole(struct assembly *s, const char *body)
{
	struct error err;

	assert_true(assemble_response(&s->a, span_of(body), &err));
}

static const struct turn *end(struct assembly *s)
{
	struct error err = ERROR_INIT;

	if (!assemble_finish(&s->a, &s->turn, &err))
		fail_msg("%s", err.text);
	return &s->turn;
}

static void release(struct assembly *s)
{
	assemble_release(&s->a);
}

/* --- token_status. ------------------------------------------------------ */

static void check_status(const char *const *events, enum token_status expected)
{
	struct assembly s;
	const struct turn *t;

	begin(&s);
	for (const char *const *p = events; *p; p++)
		event(&s, *p);
	t = end(&s);
	if (t->token_status != expected)
		fail_msg("%s instead of %s for %s ...",
			 token_status_name(t->token_status),
			 token_status_name(expected), events[0]);
	release(&s);
}

#define STATUS(expected, ...) \
	check_status((const char *const[]){ __VA_ARGS__, NULL }, expected)

#define CHOICE(members) "{\"choices\":[{" members "}]}"
#define ENTRY(token, logprob) \
	"{\"token\":\"" token "\",\"logprob\":" logprob "}"
#define LOGPROBS(entries) "\"logprobs\":{\"content\":[" entries "]}"
#define TWO               LOGPROBS(ENTRY("a", "-1") "," ENTRY("b", "0"))
#define USAGE(count) \
	"{\"choices\":[],\"usage\":{\"completion_tokens\":" count "}}"

static void test_assemble__exact_when_all_agree(void **state UNUSED)
{
	STATUS(TOKENS_EXACT, CHOICE(TWO ",\"token_ids\":[1,2]"), USAGE("2"));
	STATUS(TOKENS_EXACT, CHOICE(TWO), CHOICE("\"token_ids\":[1]"),
	       CHOICE("\"token_ids\":[2]"), USAGE("2"));
	STATUS(TOKENS_EXACT, USAGE("9"), CHOICE(TWO ",\"token_ids\":[1,2]"),
	       USAGE("2"));
	STATUS(TOKENS_EXACT, CHOICE(LOGPROBS(ENTRY("token_id:7", "-1"))),
	       USAGE("1"));
	STATUS(TOKENS_EXACT,
	       CHOICE(LOGPROBS(ENTRY("token_id:7", "-1")) ",\"token_ids\":[7]"),
	       USAGE("1"));
}

static void test_assemble__unconfirmed_without_usage(void **state UNUSED)
{
	STATUS(TOKENS_UNCONFIRMED, CHOICE(TWO ",\"token_ids\":[1,2]"));
	STATUS(TOKENS_UNCONFIRMED, CHOICE(TWO ",\"token_ids\":[1,2]"),
	       USAGE("null"));
	STATUS(TOKENS_UNCONFIRMED, CHOICE(TWO ",\"token_ids\":[1,2]"),
	       "{\"usage\":null}");
	STATUS(TOKENS_UNCONFIRMED, CHOICE(TWO ",\"token_ids\":[1,2]"),
	       "{\"usage\":{\"completion_tokens\":\"2\"}}");
}

static void test_assemble__one_kind_alone(void **state UNUSED)
{
	STATUS(TOKENS_NONE, "{}");
	STATUS(TOKENS_NONE, CHOICE("\"delta\":{\"content\":\"a\"}"));
	STATUS(TOKENS_NONE, CHOICE("\"delta\":{}"), USAGE("5"));
	STATUS(TOKENS_IDS_ONLY, CHOICE("\"token_ids\":[1,2]"));
	STATUS(TOKENS_IDS_ONLY, CHOICE("\"token_ids\":[1,2]"), USAGE("2"));
	STATUS(TOKENS_LOGPROBS_ONLY, CHOICE(TWO));
	STATUS(TOKENS_LOGPROBS_ONLY, CHOICE(TWO), USAGE("2"));
}

static void test_assemble__mismatch_when_any_two_differ(void **state UNUSED)
{
	STATUS(TOKENS_MISMATCH, CHOICE(TWO ",\"token_ids\":[1]"), USAGE("2"));
	STATUS(TOKENS_MISMATCH, CHOICE(TWO ",\"token_ids\":[1,2,3]"));
	STATUS(TOKENS_MISMATCH, CHOICE(TWO ",\"token_ids\":[1,2]"), USAGE("3"));
	STATUS(TOKENS_MISMATCH, CHOICE("\"token_ids\":[1,2]"), USAGE("3"));
	STATUS(TOKENS_MISMATCH, CHOICE(TWO), USAGE("1"));
	STATUS(TOKENS_MISMATCH,
	       CHOICE(LOGPROBS(ENTRY("token_id:7", "-1")) ",\"token_ids\":[8]"),
	       USAGE("1"));
}

static void test_assemble__mismatch_when_one_is_unusable(void **state UNUSED)
{
	STATUS(TOKENS_MISMATCH,
	       CHOICE(LOGPROBS(ENTRY("a", "-9999.0")) ",\"token_ids\":[1]"),
	       USAGE("1"));
	STATUS(TOKENS_MISMATCH,
	       CHOICE(LOGPROBS(ENTRY("a", "0.1")) ",\"token_ids\":[1]"),
	       USAGE("1"));
	STATUS(TOKENS_MISMATCH,
	       CHOICE(LOGPROBS(ENTRY("a", "-1")) ",\"token_ids\":[\"1\"]"),
	       USAGE("1"));
}

#define CHOICES(first, second) \
	"{\"choices\":[{\"index\":0," first "},{\"index\":1," second "}]}"

/* What one parser reads another does not: it is of no use, and counts once. */
static void check_twice(const char *members, enum token_status expected)
{
	struct buf chunk = test_buf();
	struct assembly s;

	putf(&chunk, CHOICE("%s"), members);
	begin(&s);
	event(&s, chunk.data);
	event(&s, USAGE("2"));
	assert_int_equal(assemble_tokens(&s.a), 2);
	assert_int_equal(end(&s)->token_status, expected);
	release(&s);
	buf_release(&chunk);
}

static void test_assemble__what_is_given_twice_counts_once(void **state UNUSED)
{
	static const char ids[] = "\"token_ids\":[1,2],";
	struct buf members = test_buf();

#define TWICE(expected, text)                                 \
	do {                                                  \
		buf_clear(&members);                          \
		putf(&members, "%s%s", ids, text);            \
		check_twice(members.data, TOKENS_##expected); \
	} while (0)
	TWICE(MISMATCH, TWO "," TWO);
	TWICE(MISMATCH, TWO ",\"logprobs\":null");
	TWICE(MISMATCH, TWO ",\"logpr\\u006fbs\":{\"content\":[1,2,3]}");
	TWICE(MISMATCH,
	      "\"logprobs\":{\"content\":[" ENTRY("a", "-1") "," ENTRY(
		      "b", "0") "],\"content\":[" ENTRY("c", "0") "]}");
	TWICE(MISMATCH, TWO ",\"index\":0,\"index\":1");
	TWICE(EXACT, TWO ",\"index\":0,\"index\":0");
	TWICE(EXACT, TWO ",\"token_ids\":[1,2]");
	TWICE(EXACT, "\"logprobs\":null," TWO);
	TWICE(EXACT, "\"logprobs\":{\"content\":null,\"content\":[" ENTRY(
			     "a", "-1") "," ENTRY("b", "0") "]}");
#undef TWICE
	buf_release(&members);
}

static void test_assemble__counts_are_summed_over_choices(void **state UNUSED)
{
	STATUS(TOKENS_EXACT,
	       CHOICES(TWO ",\"token_ids\":[1,2]", TWO ",\"token_ids\":[3,4]"),
	       USAGE("4"));
	STATUS(TOKENS_MISMATCH,
	       CHOICES(TWO ",\"token_ids\":[1,2]", TWO ",\"token_ids\":[3,4]"),
	       USAGE("2"));
	STATUS(TOKENS_MISMATCH,
	       CHOICES(TWO ",\"token_ids\":[1,2]", "\"token_ids\":[3,4]"),
	       USAGE("4"));
}

/* A whole body's choices are as many as there are, whatever they are called. */
static void test_assemble__choices_are_never_merged(void **state UNUSED)
{
	const char *const bodies[] = {
		"{\"choices\":[{" TWO ",\"token_ids\":[1,2],"
		"\"finish_reason\":\"stop\",\"message\":{}},{" TWO
		",\"token_ids\":[3,4],\"finish_reason\":\"stop\","
		"\"message\":{}}],"
		"\"usage\":{\"completion_tokens\":4}"
		"}",
		"{\"choices\":[{\"index\":0," TWO ",\"token_ids\":[1,2]},"
		"{\"index\":0," TWO ",\"token_ids\":[3,4]}],"
		"\"usage\":{\"completion_tokens\":4}"
		"}",
	};
	struct assembler a;
	struct error err;

	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		struct turn turn = { 0 };

		assemble_init(&a, 0);
		assert_true(assemble_response(&a, span_of(bodies[i]), &err));
		assert_true(assemble_finish(&a, &turn, &err));
		assert_int_equal(turn.token_status,
				 i ? TOKENS_MISMATCH : TOKENS_EXACT);
		if (!i)
			check_text(turn.completion_token_ids, "[1,2]");
		assemble_release(&a);
	}
}

static void test_assemble__what_is_unreadable_is_no_match(void **state UNUSED)
{
	STATUS(TOKENS_MISMATCH, CHOICE(TWO ",\"token_ids\":[1,2]"),
	       "{\"choices\":[{\"logprob\":-Infinity}]}", USAGE("2"));
	STATUS(TOKENS_MISMATCH, CHOICE(TWO ",\"token_ids\":[1,2]"),
	       "[" CHOICE(TWO ",\"token_ids\":[3,4]") "]", USAGE("2"));
	STATUS(TOKENS_MISMATCH, CHOICE(TWO ",\"token_ids\":[1,2]"),
	       "{\"choices\":[[1]]}", USAGE("2"));
	STATUS(TOKENS_MISMATCH, CHOICE(TWO ",\"token_ids\":[1,2]"),
	       "{\"choices\":{\"index\":0}}", USAGE("2"));
	STATUS(TOKENS_EXACT, CHOICE(TWO ",\"token_ids\":[1,2]"),
	       "{\"choices\":null}", USAGE("2"));
	STATUS(TOKENS_EXACT, CHOICE(TWO ",\"token_ids\":[1,2]"), "",
	       USAGE("2"));
}

static void test_assemble__each_told_id_counts(void **state UNUSED)
{
	const char *told = "\"logprobs\":{\"content\":["
			   "{\"token\":\"token_id:7\",\"logprob\":-1},"
			   "{\"token\":\"x\",\"logprob\":-1}]}";
	char *event;

	event = xasprintf("{\"choices\":[{%s,\"token_ids\":[7,1]}]}", told);
	STATUS(TOKENS_UNCONFIRMED, event);
	free(event);
	event = xasprintf("{\"choices\":[{%s,\"token_ids\":[0,1]}]}", told);
	STATUS(TOKENS_MISMATCH, event);
	free(event);
}

/* The record's own tokens are choice 0's: without it there are none. */
static void test_assemble__without_choice_0_there_are_no_tokens(
	void **state UNUSED)
{
	STATUS(TOKENS_NONE,
	       "{\"choices\":[{\"index\":1," TWO ",\"token_ids\":[1,2]}]}");
}

/* --- What the record gets. ---------------------------------------------- */

static void test_assemble__a_stream_becomes_a_completion(void **state UNUSED)
{
	struct assembly s;
	const struct turn *t;

	begin(&s);
	event(&s, "{\"id\":\"x\",\"created\":1,\"model\":\"m\","
		  "\"system_fingerprint\":null,\"choices\":[{\"index\":0,"
		  "\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}],"
		  "\"prompt_token_ids\":[7, 8],\"usage\":null}");
	event(&s, "{\"id\":\"y\",\"created\":2,\"model\":\"n\","
		  "\"system_fingerprint\":\"fp\",\"service_tier\":\"t\","
		  "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},"
		  "\"token_ids\":[1],\"finish_reason\":\"stop\"}],"
		  "\"usage\":{\"completion_tokens\":0}}");
	event(&s, USAGE("1"));
	t = end(&s);
	check_text(t->response,
		   "{\"id\":\"x\",\"object\":\"chat.completion\",\"created\":1,"
		   "\"model\":\"m\",\"service_tier\":\"t\","
		   "\"system_fingerprint\":\"fp\",\"choices\":[{\"index\":0,"
		   "\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"},"
		   "\"finish_reason\":\"stop\"}],"
		   "\"usage\":{\"completion_tokens\":1}}");
	check_text(t->finish_reason, "\"stop\"");
	check_text(t->upstream_model, "\"m\"");
	check_text(t->system_fingerprint, "\"fp\"");
	check_text(t->usage, "{\"completion_tokens\":1}");
	check_text(t->prompt_token_ids, "[7, 8]");
	check_text(t->completion_token_ids, "[1]");
	assert_int_equal(t->logprobs.len, 0);
	release(&s);
}

static void test_assemble__other_choices_keep_their_tokens(void **state UNUSED)
{
	struct assembly s;
	const struct turn *t;

	begin(&s);
	event(&s, CHOICES("\"token_ids\":[1]", TWO ",\"token_ids\":[2,3]"));
	t = end(&s);
	check_text(t->completion_token_ids, "[1]");
	check_text(t->response,
		   "{\"object\":\"chat.completion\",\"choices\":[{\"index\":0,"
		   "\"message\":{\"role\":\"assistant\",\"content\":null},"
		   "\"finish_reason\":null},{\"index\":1,\"message\":{"
		   "\"role\":\"assistant\",\"content\":null},"
		   "\"finish_reason\":null," TWO ",\"token_ids\":[2,3]}],"
		   "\"usage\":null}");
	release(&s);
}

static void test_assemble__remembers_how_the_tokens_came(void **state UNUSED)
{
	struct assembly s;
	const struct turn *t;
	struct error err;

	begin(&s);
	event(&s, "{\"choices\":[]}");
	event(&s, CHOICE("\"delta\":{\"role\":\"assistant\"}"));
	event(&s, CHOICE("\"delta\":{\"content\":\"a\"},\"token_ids\":[1,2]"));
	event(&s, CHOICE("\"delta\":{}," TWO));
	event(&s, CHOICE("\"delta\":{\"content\":\"b\"}"));
	event(&s, "{\"choices\":[{\"index\":1,\"token_ids\":[1]}]}");
	assert_true(assemble_event(&s.a, SPAN(CHOICE("\"token_ids\":[3]")),
				   START_US + 2500999, &err));
	t = end(&s);
	check_text(t->chunk_tokens, "[2,2,0,1]");
	check_text(t->chunk_ms, "[5,5,5,2500]");
	assert_int_equal(t->ttft_us, 5000);
	release(&s);
}

static void test_assemble__a_whole_body_is_kept_as_it_is(void **state UNUSED)
{
#define SAMPLED ENTRY("a", "-0.30000000000000004")
	static const char body[] =
		"{ \"id\" : 9007199254740993,\n \"choices\":[{\"index\":0,"
		"\"message\":{\"content\":\"a\"},\"finish_reason\":\"stop\","
		"\"prompt_token_ids\":[5],\"response_token_ids\":[6]," LOGPROBS(
			SAMPLED) "}],\"usage\":{\"completion_tokens\":1}}";
	struct assembly s;
	const struct turn *t;

	begin(&s);
	whole(&s, body);
	assert_true(assemble_is_finished(&s.a));
	t = end(&s);
	check_text(t->response, body);
	check_text(t->per_token_logps, "[-0.30000000000000004]");
	check_text(t->completion_token_ids, "[6]");
	check_text(t->prompt_token_ids, "[5]");
	assert_int_equal(t->token_status, TOKENS_EXACT);
	assert_int_equal(t->ttft_us, 0);
	assert_int_equal(t->chunk_tokens.len, 0);
	release(&s);
}

static void check_refusal(unsigned status, struct span body,
			  const char *expected)
{
	struct assembly s;
	struct error err;

	begin(&s);
	event(&s, CHOICE("\"delta\":{\"content\":\"half\"}"));
	assert_true(assemble_refusal(&s.a, status, body, &err));
	check_text(end(&s)->response, expected);
	release(&s);
}

static void test_assemble__a_refusal_is_kept_with_its_status(
	void **state UNUSED)
{
	check_refusal(400, SPAN("{\"error\": {\"message\":\"x\"}}"),
		      "{\"choices\":[],\"usage\":null,\"upstream_status\":400,"
		      "\"upstream_error\":{\"error\": {\"message\":\"x\"}}}");
	check_refusal(502, SPAN("<html>\n\xFF"),
		      "{\"choices\":[],\"usage\":null,\"upstream_status\":502,"
		      "\"upstream_error\":\"<html>\\n\xEF\xBF\xBD\"}");
	check_refusal(0, SPAN("no answer"),
		      "{\"choices\":[],\"usage\":null,\"upstream_status\":null,"
		      "\"upstream_error\":\"no answer\"}");
	check_refusal(429, SPAN(""),
		      "{\"choices\":[],\"usage\":null,\"upstream_status\":429,"
		      "\"upstream_error\":\"\"}");
}

static void check_finished(const char *data, bool finished, bool error)
{
	struct assembly s;

	begin(&s);
	event(&s, data);
	if (assemble_is_finished(&s.a) != finished)
		fail_msg("%s", data);
	assert_int_equal(assemble_has_error(&s.a), error);
	end(&s);
	release(&s);
}

static void test_assemble__finished_when_every_choice_is(void **state UNUSED)
{
	check_finished("{}", false, false);
	check_finished("{\"choices\":[]}", false, false);
	check_finished(CHOICE("\"finish_reason\":\"stop\""), true, false);
	check_finished(CHOICE("\"finish_reason\":\"error\""), false, false);
	check_finished(CHOICES("\"finish_reason\":\"stop\"",
			       "\"finish_reason\":\"length\""),
		       true, false);
	check_finished(CHOICES("\"finish_reason\":\"stop\"",
			       "\"finish_reason\":null"),
		       false, false);
	check_finished("{\"choices\":[{\"finish_reason\":\"stop\"}],"
		       "\"error\":{}}",
		       false, true);
	check_finished("{\"error\":null}", false, false);
	check_finished("{\"error\":\"x\"}", false, true);
}

static void test_assemble__odd_data_does_no_harm(void **state UNUSED)
{
	static const char *const data[] = {
		"",
		"[DONE]",
		"{",
		"null",
		"[]",
		"{\"choices\":1}",
		"{\"choices\":{}}",
		"{\"choices\":[null,1,\"x\",[]]}",
		"{\"choices\":[{\"index\":-1}]}",
		"{\"choices\":[{\"index\":\"x\"}]}",
		"{\"id\":[],\"model\":{},\"usage\":1,\"prompt_token_ids\":1}",
		"{\"choices\":[{\"finish_reason\":\"stop\"}],}",
	};
	struct assembly s;

	begin(&s);
	for (size_t i = 0; i < ARRAY_LEN(data); i++)
		event(&s, data[i]);
	assert_false(assemble_is_finished(&s.a));
	check_text(end(&s)->response,
		   "{\"id\":[],\"object\":\"chat.completion\",\"model\":{},"
		   "\"choices\":[{\"index\":0,\"message\":{"
		   "\"role\":\"assistant\",\"content\":null},"
		   "\"finish_reason\":null}],\"usage\":1}");
	release(&s);
}

/* What the response has as it came the record's own members have not. */
static void check_members(const char *data, const char *usage,
			  const char *prompt_ids, const char *model)
{
	const struct turn *t;
	struct assembly s;

	begin(&s);
	event(&s, data);
	t = end(&s);
	check_text(t->usage, usage);
	check_text(t->prompt_token_ids, prompt_ids);
	check_text(t->upstream_model, model);
	check_text(t->system_fingerprint, model);
	release(&s);
}

#define NAMES(value) "\"model\":" value ",\"system_fingerprint\":" value

static void test_assemble__members_are_of_their_type(void **state UNUSED)
{
	check_members("{" NAMES("\"m\"") ",\"usage\":{},\"prompt_token_ids\":"
					 "[0,\n12]}",
		      "{}", "[0,\n12]", "\"m\"");
	check_members("{" NAMES("5") ",\"usage\":7,\"prompt_token_ids\":1}", "",
		      "", "");
	check_members("{" NAMES("{}") ",\"usage\":[],\"prompt_token_ids\":"
				      "[1,-2]}",
		      "", "", "");
	check_members("{\"prompt_token_ids\":[\"1\"]}", "", "", "");
	check_members("{\"prompt_token_ids\":[1.5]}", "", "", "");
	check_members("{\"prompt_token_ids\":[[1]]}", "", "", "");
	check_members("{\"prompt_token_ids\":[1,null]}", "", "", "");
	check_members("{\"prompt_token_ids\":[]}", "", "[]", "");
	check_members(CHOICE("\"prompt_token_ids\":[1,true]"), "", "", "");
	check_members(CHOICE("\"prompt_token_ids\":[1,2]"), "", "[1,2]", "");
}

/* A line that turn_decode() reads, whatever the upstream printed. */
static void check_recorded(const struct turn *turn)
{
	struct buf line = test_buf();
	struct turn decoded;
	struct error err = ERROR_INIT;

	assert_true(turn_encode(turn, &line, &err));
	assert_null(memchr(line.data, '\n', line.len));
	if (!json_valid(buf_span(&line)))
		fail_msg("not JSON: %s", line.data);
	if (!turn_decode(buf_span(&line), &decoded, &err))
		fail_msg("%s", err.text);
	buf_release(&line);
}

static void test_assemble__any_print_makes_a_record(void **state UNUSED)
{
	struct assembly s;

	begin(&s);
	event(&s, "{\"id\":\n\"x\",\"choices\":[{\n\"delta\":{\"content\":"
		  "\"\xFF\"},\"logprobs\":{\"content\":[\n{\"token\":"
		  "\"\xE2\x80\",\n\"logprob\":-1}\r]},\"token_ids\":[\n1]}],"
		  "\"usage\":{\n\"\xC3\":1}}");
	event(&s, CHOICE("\"delta\":{\"content\":\"\\ud83d\"}"));
	event(&s, CHOICE("\"delta\":{\"content\":\"\\ude00\"}"));
	check_recorded(end(&s));
	release(&s);
}

static void test_assemble__choices_have_a_limit(void **state UNUSED)
{
	struct error err = ERROR_INIT;
	struct assembly s;

	begin(&s);
	for (int i = 0; i <= LIMIT_TURN_CHOICES; i++) {
		char *data = xasprintf("{\"choices\":[{\"index\":%d}]}", i);

		assert_int_equal(assemble_event(&s.a, span_of(data), START_US,
						&err),
				 i < LIMIT_TURN_CHOICES);
		free(data);
	}
	check_error(&err, ERROR_TOO_LARGE, "128 choices");
	release(&s);
}

/* --- Recorded answers, against an independent reading of them. ---------- */

/* The same JSON in one spelling: no white space, strings escaped our way. */
static void canonical(struct json_cursor *c, struct json_writer *jw)
{
	struct json_value value = JSON_VALUE_NONE;
	struct buf text = test_buf();
	struct error err;

	switch (json_peek(c)) {
	case JSON_ARRAY:
		jw_array_begin(jw);
		json_enter_array(c);
		while (json_next_item(c))
			canonical(c, jw);
		jw_array_end(jw);
		break;
	case JSON_STRING:
		assert_true(json_read(c, &value));
		assert_true(json_unescape(value, &text, &err));
		jw_string(jw, buf_span(&text));
		break;
	default:
		assert_true(json_read(c, &value));
		jw_raw(jw, value.text);
	}
	buf_release(&text);
}

/* A member in canonical form, or else `absent`. */
static void write_member(struct json_writer *jw, const char *key,
			 struct span json, const char *absent)
{
	struct json_cursor c;

	jw_key(jw, key);
	json_open(&c, json.len ? json : span_of(absent));
	canonical(&c, jw);
	assert_true(json_close(&c));
}

static struct span member(struct span object, const char *name)
{
	struct json_value value = JSON_VALUE_NONE;

	json_find(object, name, &value);
	return value.text;
}

static void write_calls(struct json_writer *jw, struct span calls)
{
	struct json_value call;
	struct json_cursor c;

	jw_key(jw, "tool_calls");
	jw_array_begin(jw);
	json_open(&c, calls);
	if (json_peek(&c) == JSON_ARRAY)
		json_enter_array(&c);
	while (json_next_item(&c) && json_read(&c, &call)) {
		struct span function = member(call.text, "function");

		jw_object_begin(jw);
		write_member(jw, "id", member(call.text, "id"), "null");
		write_member(jw, "name", member(function, "name"), "null");
		write_member(jw, "arguments", member(function, "arguments"),
			     "null");
		jw_object_end(jw);
	}
	jw_array_end(jw);
}

static void write_choice(struct json_writer *jw, struct span choice)
{
	static const char *const texts[] = { "content", "reasoning",
					     "reasoning_content", "refusal" };
	struct span message = member(choice, "message");

	jw_object_begin(jw);
	write_member(jw, "index", member(choice, "index"), "0");
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		write_member(jw, texts[i], member(message, texts[i]), "null");
	write_calls(jw, member(message, "tool_calls"));
	write_member(jw, "finish_reason", member(choice, "finish_reason"),
		     "null");
	jw_object_end(jw);
}

/* A turn as tests/data/expected describes it. */
static void describe(const struct turn *t, struct span name, struct buf *out)
{
	struct json_writer jw;
	struct json_value choice;
	struct json_cursor c;
	struct error err;

	jw_init(&jw, out);
	jw_object_begin(&jw);
	write_member(&jw, "of", name, "");
	write_member(&jw, "completion_tokens", t->completion_tokens, "[]");
	write_member(&jw, "completion_token_ids", t->completion_token_ids,
		     "[]");
	write_member(&jw, "per_token_logps", t->per_token_logps, "[]");
	write_member(&jw, "prompt_token_ids", t->prompt_token_ids, "null");
	write_member(&jw, "finish_reason", t->finish_reason, "null");
	jw_key(&jw, "token_status");
	jw_cstring(&jw, token_status_name(t->token_status));
	jw_key(&jw, "choices");
	jw_array_begin(&jw);
	json_open(&c, member(t->response, "choices"));
	json_enter_array(&c);
	while (json_next_item(&c) && json_read(&c, &choice))
		write_choice(&jw, choice.text);
	assert_true(json_close(&c));
	jw_array_end(&jw);
	jw_object_end(&jw);
	assert_true(jw_finish(&jw, &err));
}

static void feed_answer(struct span piece, void *arg)
{
	struct answer *answer = arg;
	struct error err;

	assert_true(answer_feed(answer, piece, START_US, &err));
}

/* Read the answer in one of the ways and compare with its line. */
static void check_way(struct span line, struct span body, bool stream, int way)
{
	const struct rewrite rewrite = { .added_logprobs = true,
					 .added_token_ids = true };
	struct buf out = test_buf();
	struct answer answer;
	struct error err;
	struct turn turn = { .request = SPAN("{}") };

	answer_init(&answer, &rewrite, START_US);
	if (stream) {
		feed(body, way, feed_answer, &answer);
		assert_true(answer_finish(&answer, START_US, &err));
	} else {
		assert_true(answer_whole(&answer, body, &err));
	}
	assert_true(assemble_finish(&answer.assembler, &turn, &err));
	describe(&turn, member(line, "of"), &out);
	check_bytes("turn", buf_span(&out), line);
	check_recorded(&turn);
	answer_release(&answer);
	buf_release(&out);
}

static void check_line(const char *server, struct span line)
{
	struct span name = member(line, "of");
	char *path = xasprintf(WIRE "/%s/%.*s", server, (int)name.len - 2,
			       name.data + 1);
	bool stream = strstr(path, ".sse") != NULL;
	struct buf body;

	load(path, &body);
	for (int way = 0; way < (stream ? FEED_WAYS : 1); way++)
		check_way(line, buf_span(&body), stream, way);
	free(path);
	buf_release(&body);
}

static void count_file(const char *path UNUSED, void *arg UNUSED)
{
}

static void check_server(const char *server)
{
	char *path = xasprintf(EXPECTED "/%s.jsonl", server);
	char *folder = xasprintf(WIRE "/%s", server);
	unsigned lines = 0;
	struct buf file;
	struct span rest;
	const char *line_end;

	load(path, &file);
	rest = buf_span(&file);
	while (rest.len && (line_end = memchr(rest.data, '\n', rest.len))) {
		size_t len = (size_t)(line_end - rest.data);

		check_line(server, span_from(rest.data, len));
		rest = span_after(rest, len + 1);
		lines++;
	}
	assert_int_equal(lines, each_file(folder, ".asked.", count_file, NULL));
	free(path);
	free(folder);
	buf_release(&file);
}

static void test_assemble__vllm(void **state UNUSED)
{
	check_server("vllm");
}

static void test_assemble__sglang(void **state UNUSED)
{
	check_server("sglang");
}

static void test_assemble__llamacpp(void **state UNUSED)
{
	check_server("llamacpp");
}

static void test_assemble__openai(void **state UNUSED)
{
	check_server("openai");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_assemble__exact_when_all_agree),
		cmocka_unit_test(test_assemble__unconfirmed_without_usage),
		cmocka_unit_test(test_assemble__one_kind_alone),
		cmocka_unit_test(test_assemble__mismatch_when_any_two_differ),
		cmocka_unit_test(test_assemble__mismatch_when_one_is_unusable),
		cmocka_unit_test(
			test_assemble__what_is_given_twice_counts_once),
		cmocka_unit_test(test_assemble__counts_are_summed_over_choices),
		cmocka_unit_test(test_assemble__choices_are_never_merged),
		cmocka_unit_test(test_assemble__what_is_unreadable_is_no_match),
		cmocka_unit_test(test_assemble__each_told_id_counts),
		cmocka_unit_test(
			test_assemble__without_choice_0_there_are_no_tokens),
		cmocka_unit_test(test_assemble__a_stream_becomes_a_completion),
		cmocka_unit_test(
			test_assemble__other_choices_keep_their_tokens),
		cmocka_unit_test(test_assemble__remembers_how_the_tokens_came),
		cmocka_unit_test(test_assemble__a_whole_body_is_kept_as_it_is),
		cmocka_unit_test(
			test_assemble__a_refusal_is_kept_with_its_status),
		cmocka_unit_test(test_assemble__finished_when_every_choice_is),
		cmocka_unit_test(test_assemble__odd_data_does_no_harm),
		cmocka_unit_test(test_assemble__members_are_of_their_type),
		cmocka_unit_test(test_assemble__any_print_makes_a_record),
		cmocka_unit_test(test_assemble__choices_have_a_limit),
		cmocka_unit_test(test_assemble__vllm),
		cmocka_unit_test(test_assemble__sglang),
		cmocka_unit_test(test_assemble__llamacpp),
		cmocka_unit_test(test_assemble__openai),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
