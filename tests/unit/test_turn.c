/* The trace record, written and read. */
#include "shared/turn.h"

#include <string.h>

#include "shared/json_scan.h"
#include "shared/json_text.h"
#include "tests/unit/generate.h"
#include "tests/unit/vectors.h"

static const struct turn full = {
	.number = 3,
	.kind = TURN_SUBAGENT,
	.rollout_id = { "r-1", 3 },
	.session_id = { "ses_1", 5 },
	.parent_session_id = { "ses_0", 5 },
	.attempt = 2,
	.supersedes = 1,
	.request = { "{\"n\":9007199254740993}", 22 },
	.response = { "{\"choices\":[]}", 14 },
	.finish_reason = { "\"stop\"", 6 },
	.logprobs = { "[{\"token\":\"a\",\"logprob\":-0.30000000000000004}]",
		      46 },
	.completion_tokens = { "[\"a\"]", 5 },
	.completion_token_ids = { "[64]", 4 },
	.per_token_logps = { "[-0.30000000000000004]", 22 },
	.prompt_token_ids = { "[1,2]", 5 },
	.chunk_tokens = { "[1]", 3 },
	.chunk_ms = { "[12]", 4 },
	.token_status = TOKENS_EXACT,
	.logprobs_mode = { "raw", 3 },
	.prefix_of = 1,
	.prefix_broken = true,
	.prefix_break = 0,
	.usage = { "{\"completion_tokens\":1}", 23 },
	.sampling = { "{\"seed\":{}}", 11 },
	.degraded = { "[\"logprobs\"]", 12 },
	.dialect = { "vllm", 4 },
	.upstream_model = { "\"m\"", 3 },
	.system_fingerprint = { "\"fp\"", 4 },
	.upstream_headers = { "{\"server\":\"x\"}", 14 },
	.restreamed = true,
	.upstream_status = 200,
	.attempts = 2,
	.timestamp_us = 1790000000123456,
	.latency_us = 1500001,
	.ttft_us = 1,
	.complete = true,
	.delivered = true,
	.side_effects_possible = true,
	.abort_reason = { "cut", 3 },
};

/* Encoded, checked to be a line of JSON; buf_release() it. */
static struct buf encoded(const struct turn *turn)
{
	struct buf line = test_buf();
	struct error err;

	assert_true(turn_encode(turn, &line, &err));
	assert_null(memchr(line.data, '\n', line.len));
	assert_null(memchr(line.data, '\r', line.len));
	if (!json_valid(buf_span(&line)))
		fail_msg("not JSON: %s", line.data);
	return line;
}

static void check_member(struct span line, const char *name,
			 const char *expected)
{
	struct json_value value;

	if (!json_find(line, name, &value))
		fail_msg("%s is not in %.*s", name, (int)line.len, line.data);
	check_bytes(name, value.text, span_of(expected));
}

static void check_same_spans(const struct turn *a, const struct turn *b)
{
	static const size_t offsets[] = {
		offsetof(struct turn, rollout_id),
		offsetof(struct turn, session_id),
		offsetof(struct turn, parent_session_id),
		offsetof(struct turn, request),
		offsetof(struct turn, response),
		offsetof(struct turn, finish_reason),
		offsetof(struct turn, logprobs),
		offsetof(struct turn, completion_tokens),
		offsetof(struct turn, completion_token_ids),
		offsetof(struct turn, per_token_logps),
		offsetof(struct turn, prompt_token_ids),
		offsetof(struct turn, chunk_tokens),
		offsetof(struct turn, chunk_ms),
		offsetof(struct turn, usage),
		offsetof(struct turn, sampling),
		offsetof(struct turn, degraded),
		offsetof(struct turn, dialect),
		offsetof(struct turn, upstream_model),
		offsetof(struct turn, system_fingerprint),
		offsetof(struct turn, abort_reason),
	};

	for (size_t i = 0; i < ARRAY_LEN(offsets); i++)
		check_bytes(
			"member",
			*(const struct span *)((const char *)a + offsets[i]),
			*(const struct span *)((const char *)b + offsets[i]));
}

static void check_same(const struct turn *a, const struct turn *b)
{
	check_same_spans(a, b);
	assert_int_equal(a->number, b->number);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->token_status, b->token_status);
	assert_int_equal(a->upstream_status, b->upstream_status);
	assert_int_equal(a->attempts, b->attempts);
	assert_int_equal(a->timestamp_us, b->timestamp_us);
	assert_int_equal(a->latency_us, b->latency_us);
	assert_int_equal(a->ttft_us, b->ttft_us);
	assert_int_equal(a->complete, b->complete);
	assert_int_equal(a->delivered, b->delivered);
	assert_int_equal(a->side_effects_possible, b->side_effects_possible);
}

static void check_round_trip(const struct turn *turn)
{
	struct buf line = encoded(turn);
	struct guarded g = guard(buf_span(&line));
	struct turn decoded;
	struct error err = ERROR_INIT;

	if (!turn_decode(g.text, &decoded, &err))
		fail_msg("%s", err.text);
	check_same(&decoded, turn);
	guard_free(&g);
	buf_release(&line);
}

static void test_turn__every_member_comes_back(void **state UNUSED)
{
	check_round_trip(&full);
}

static void test_turn__every_kind_and_status_comes_back(void **state UNUSED)
{
	struct turn turn = full;

	for (turn.kind = TURN_AGENT; turn.kind <= TURN_OTHER; turn.kind++)
		check_round_trip(&turn);
	turn.kind = TURN_AGENT;
	for (turn.token_status = TOKENS_NONE; turn.token_status <= TOKENS_EXACT;
	     turn.token_status++)
		check_round_trip(&turn);
}

static void test_turn__microseconds_come_back(void **state UNUSED)
{
	struct rng rng = rng_seeded(1);
	struct turn turn = full;

	for (int i = 0; i < 2000; i++) {
		turn.timestamp_us =
			1700000000000000 + rng_next(&rng) % (1ull << 59);
		turn.latency_us = rng_next(&rng) >> (14 + rng_below(&rng, 49));
		turn.ttft_us = rng_next(&rng) >> (14 + rng_below(&rng, 49));
		check_round_trip(&turn);
	}
}

static void test_turn__wire_names_are_the_ancestors(void **state UNUSED)
{
	struct buf line = encoded(&full);

	check_text(buf_span(&line),
		   "{\"schema\":\"octap.turn/1\",\"turn\":3,"
		   "\"kind\":\"subagent\",\"rollout_id\":\"r-1\","
		   "\"session_id\":\"ses_1\",\"parent_session_id\":\"ses_0\","
		   "\"attempt\":2,\"supersedes\":1,"
		   "\"request\":{\"n\":9007199254740993},"
		   "\"response\":{\"choices\":[]},\"finish_reason\":\"stop\","
		   "\"logprobs\":[{\"token\":\"a\","
		   "\"logprob\":-0.30000000000000004}],"
		   "\"completion_tokens\":[\"a\"],"
		   "\"completion_token_ids\":[64],"
		   "\"per_token_logps\":[-0.30000000000000004],"
		   "\"prompt_token_ids\":[1,2],\"chunk_tokens\":[1],"
		   "\"chunk_ms\":[12],\"token_status\":\"exact\","
		   "\"logprobs_mode\":\"raw\",\"prefix_of\":1,"
		   "\"prefix_break\":0,"
		   "\"usage\":{\"completion_tokens\":1},"
		   "\"sampling\":{\"seed\":{}},"
		   "\"upstream\":{\"status\":200,\"dialect\":\"vllm\","
		   "\"model\":\"m\",\"system_fingerprint\":\"fp\","
		   "\"headers\":{\"server\":\"x\"},"
		   "\"attempts\":2,\"degraded\":[\"logprobs\"],"
		   "\"synthetic_stream\":true},"
		   "\"timestamp\":1790000000.123456,\"latency_s\":1.500001,"
		   "\"ttft_s\":0.000001,\"complete\":true,\"delivered\":true,"
		   "\"abort_reason\":\"cut\",\"side_effects\":\"possible\"}");
	buf_release(&line);
}

static void test_turn__absent_members_are_null_or_empty(void **state UNUSED)
{
	const struct turn empty = { .kind = TURN_OTHER };
	struct buf line = encoded(&empty);

	check_text(buf_span(&line),
		   "{\"schema\":\"octap.turn/1\",\"turn\":0,\"kind\":\"other\","
		   "\"rollout_id\":null,\"session_id\":null,"
		   "\"parent_session_id\":null,\"attempt\":0,"
		   "\"supersedes\":null,\"request\":null,"
		   "\"request_base64\":\"\",\"response\":null,"
		   "\"finish_reason\":null,\"logprobs\":null,"
		   "\"completion_tokens\":[],\"completion_token_ids\":[],"
		   "\"per_token_logps\":[],\"prompt_token_ids\":null,"
		   "\"chunk_tokens\":[],\"chunk_ms\":[],"
		   "\"token_status\":\"none\",\"logprobs_mode\":null,"
		   "\"prefix_of\":null,\"prefix_break\":null,"
		   "\"usage\":null,\"sampling\":null,"
		   "\"upstream\":{\"status\":null,\"dialect\":null,"
		   "\"model\":null,\"system_fingerprint\":null,"
		   "\"headers\":null,\"attempts\":0,\"degraded\":[],"
		   "\"synthetic_stream\":false},\"timestamp\":0.000000,"
		   "\"latency_s\":0.000000,\"ttft_s\":null,\"complete\":false,"
		   "\"delivered\":false,\"abort_reason\":null,"
		   "\"side_effects\":null}");
	buf_release(&line);
}

static void check_request(struct span body, const char *member,
			  const char *expected)
{
	struct turn turn = full;
	struct buf line;

	turn.request = body;
	line = encoded(&turn);
	check_member(buf_span(&line), member, expected);
	if (!strcmp(member, "request_base64"))
		check_member(buf_span(&line), "request", "null");
	buf_release(&line);
}

static void test_turn__request_is_kept_byte_for_byte(void **state UNUSED)
{
	check_request(SPAN("{ \"a\" : [9007199254740993,1e400,\"\\u0000\\ud800"
			   "\"],\"a\":0.30000000000000004}"),
		      "request",
		      "{ \"a\" : [9007199254740993,1e400,\"\\u0000\\ud800\"],"
		      "\"a\":0.30000000000000004}");
	check_request(SPAN("{\r\n\t\"a\": \"\\n\"\n}"), "request",
		      "{  \t\"a\": \"\\n\" }");
}

static void test_turn__a_body_that_is_no_json_is_base64(void **state UNUSED)
{
	check_request(SPAN("{\"a\":1,}"), "request_base64", "\"eyJhIjoxLH0=\"");
	check_request(SPAN("\"\xFF\""), "request_base64", "\"Iv8i\"");
	check_request(SPAN("\0"), "request_base64", "\"AA==\"");
	check_request(SPAN(""), "request_base64", "\"\"");
}

/* A server may print its members over many lines. */
static void test_turn__members_with_line_breaks_are_one_line(
	void **state UNUSED)
{
	const struct turn turn = {
		.request = SPAN("[\n]"),
		.response = SPAN("{\r\n}"),
		.finish_reason = SPAN("\"stop\""),
		.logprobs = SPAN("[{\n  \"token\": \"a\"\n}]"),
		.completion_token_ids = SPAN("[\n1]"),
		.completion_tokens = SPAN("[[\n]]"),
		.prompt_token_ids = SPAN("[1,\r2]"),
		.usage = SPAN("{\n}"),
		.sampling = SPAN("{\"top_p\":\n1}"),
		.degraded = SPAN("[\n]"),
	};
	struct buf line = encoded(&turn);

	check_member(buf_span(&line), "logprobs", "[{   \"token\": \"a\" }]");
	check_member(buf_span(&line), "prompt_token_ids", "[1, 2]");
	buf_release(&line);
}

static void test_turn__bytes_that_are_no_utf8_are_replaced(void **state UNUSED)
{
	const struct turn turn = {
		.session_id = SPAN("\xFF"),
		.request = SPAN("{}"),
		.response = SPAN("{\"a\":\"\xE2\x80\"}"),
		.finish_reason = SPAN("\"\xC3\""),
		.completion_tokens = SPAN("[\"\xF0\x9F\"]"),
		.usage = SPAN("{\"\xFF\":1}"),
		.sampling = SPAN("{\"seed\":\"\xFF\"}"),
		.upstream_model = SPAN("\"\xED\xA0\x80\""),
		.abort_reason = SPAN("\xFF"),
	};
	struct buf line = encoded(&turn);

	check_member(buf_span(&line), "finish_reason", "\"\xEF\xBF\xBD\"");
	buf_release(&line);
}

static void test_turn__texts_are_escaped(void **state UNUSED)
{
	const struct turn turn = { .session_id = SPAN("a\"b\n\\"),
				   .abort_reason = SPAN("\x01") };
	struct buf line = encoded(&turn);

	check_member(buf_span(&line), "session_id", "\"a\\\"b\\n\\\\\"");
	buf_release(&line);
}

static void test_turn__encoding_obeys_the_limit(void **state UNUSED)
{
	struct buf whole = encoded(&full);

	for (size_t limit = 1; limit <= whole.len; limit += 7) {
		struct error err = ERROR_INIT;
		struct buf line;

		buf_init(&line, limit);
		assert_false(turn_encode(&full, &line, &err));
		check_error(&err, ERROR_TOO_LARGE, "limit");
		buf_release(&line);
	}
	buf_release(&whole);
}

#define HEAD "{\"schema\":\"octap.turn/1\","

static void check_decodes(const char *line, struct turn expected)
{
	struct guarded g = guard(span_of(line));
	struct error err = ERROR_INIT;
	struct turn turn;

	if (!turn_decode(g.text, &turn, &err))
		fail_msg("%s: %s", line, err.text);
	check_same(&turn, &expected);
	guard_free(&g);
}

static void test_turn__unknown_members_are_passed_over(void **state UNUSED)
{
	check_decodes(HEAD "\"new\":{\"turn\":[9]},\"turn\":1,"
			   "\"upstream\":{\"status\":1,\"new\":[]}}",
		      (struct turn){ .kind = TURN_OTHER,
				     .number = 1,
				     .upstream_status = 1 });
	check_decodes(HEAD "\"kind\":\"new\",\"token_status\":\"new\","
			   "\"side_effects\":\"none\"}",
		      (struct turn){ .kind = TURN_OTHER });
}

static void test_turn__null_is_absent(void **state UNUSED)
{
	check_decodes(HEAD "\"turn\":null,\"session_id\":null,\"request\":null,"
			   "\"logprobs\":null,\"complete\":null,"
			   "\"latency_s\":null,\"upstream\":null}",
		      (struct turn){ .kind = TURN_OTHER });
}

static void test_turn__order_and_escapes_of_keys_do_not_matter(
	void **state UNUSED)
{
	check_decodes("{\"t\\u0075rn\" : 2 , \"complete\":true,"
		      "\"schema\" : \"octap.turn\\/1\"}",
		      (struct turn){ .kind = TURN_OTHER,
				     .number = 2,
				     .complete = true });
}

static void check_refused(const char *line, const char *why)
{
	struct guarded g = guard(span_of(line));
	struct turn turn = { .number = 42 };
	struct error err = ERROR_INIT;

	if (turn_decode(g.text, &turn, &err))
		fail_msg("accepted: %s", line);
	check_error(&err, ERROR_MALFORMED, why);
	assert_int_equal(turn.number, 42);
	guard_free(&g);
}

static void test_turn__other_schemas_are_refused(void **state UNUSED)
{
	check_refused("{}", "schema");
	check_refused("{\"turn\":1}", "schema is not octap.turn/1");
	check_refused("{\"schema\":\"octap.turn/2\"}", "schema");
	check_refused("{\"schema\":\"octap.turn/1 \"}", "schema");
	check_refused("{\"schema\":1}", "schema");
	check_refused("{\"schema\":\"octap.turn/1\",\"schema\":null}",
		      "schema");
}

static void test_turn__what_is_no_object_is_refused(void **state UNUSED)
{
	check_refused("", "not a JSON object");
	check_refused("[]", "not a JSON object");
	check_refused(HEAD "\"turn\":1", "not a JSON object");
	check_refused(HEAD "\"turn\":1}}", "not a JSON object");
	check_refused(HEAD "\"turn\":01}", "not a JSON object");
}

static void test_turn__bad_values_are_named(void **state UNUSED)
{
	check_refused(HEAD "\"turn\":-1}", "\"turn\"");
	check_refused(HEAD "\"turn\":\"1\"}", "\"turn\"");
	check_refused(HEAD "\"turn\":18446744073709551616}", "\"turn\"");
	check_refused(HEAD "\"session_id\":1}", "\"session_id\"");
	check_refused(HEAD "\"complete\":1}", "\"complete\"");
	check_refused(HEAD "\"latency_s\":-1}", "\"latency_s\"");
	check_refused(HEAD "\"latency_s\":1e400}", "\"latency_s\"");
	check_refused(HEAD "\"timestamp\":1e13}", "\"timestamp\"");
	check_refused(HEAD "\"upstream\":{\"status\":4294967296}}",
		      "\"status\"");
	check_refused(HEAD "\"upstream\":{\"attempts\":1.5}}", "\"attempts\"");
}

/* Whatever the members hold, the record is a line, and is read back. */
static void test_turn__any_json_members_make_a_line(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 1000; seed++) {
		struct rng rng = rng_seeded(seed);
		struct buf text = test_buf(), line;
		struct turn turn = full, decoded;
		struct error err;

		gen_value(&rng, &text, 5);
		turn.request = turn.response = turn.logprobs = turn.usage =
			turn.degraded = turn.sampling = buf_span(&text);
		line = encoded(&turn);
		assert_true(turn_decode(buf_span(&line), &decoded, &err));
		assert_int_equal(decoded.number, turn.number);
		buf_release(&line);
		buf_release(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turn__every_member_comes_back),
		cmocka_unit_test(test_turn__every_kind_and_status_comes_back),
		cmocka_unit_test(test_turn__microseconds_come_back),
		cmocka_unit_test(test_turn__wire_names_are_the_ancestors),
		cmocka_unit_test(test_turn__absent_members_are_null_or_empty),
		cmocka_unit_test(test_turn__request_is_kept_byte_for_byte),
		cmocka_unit_test(test_turn__a_body_that_is_no_json_is_base64),
		cmocka_unit_test(
			test_turn__members_with_line_breaks_are_one_line),
		cmocka_unit_test(
			test_turn__bytes_that_are_no_utf8_are_replaced),
		cmocka_unit_test(test_turn__texts_are_escaped),
		cmocka_unit_test(test_turn__encoding_obeys_the_limit),
		cmocka_unit_test(test_turn__unknown_members_are_passed_over),
		cmocka_unit_test(test_turn__null_is_absent),
		cmocka_unit_test(
			test_turn__order_and_escapes_of_keys_do_not_matter),
		cmocka_unit_test(test_turn__other_schemas_are_refused),
		cmocka_unit_test(test_turn__what_is_no_object_is_refused),
		cmocka_unit_test(test_turn__bad_values_are_named),
		cmocka_unit_test(test_turn__any_json_members_make_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
