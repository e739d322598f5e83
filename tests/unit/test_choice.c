/* One choice, put together from pieces. */
#include "proxy/choice.h"

#include <string.h>

#include "shared/limits.h"
#include "tests/unit/vectors.h"

/* `expected` without brackets; empty: there are none. */
static void check_choice_ids(const struct choice *choice, const char *expected)
{
	const struct buf *ids = choice_ids(choice);

	check_text(ids ? span_after(buf_span(ids), 1) : SPAN(""), expected);
}

static bool add_piece(struct choice *choice, struct span object, size_t *tokens,
		      bool *text, struct error *err)
{
	struct json_cursor c;

	json_open(&c, object);
	return choice_add(choice, &c, tokens, text, err);
}

/* Add one piece; how many tokens it brought, and whether any text. */
static void check_add(struct choice *choice, const char *piece, size_t tokens,
		      bool text)
{
	struct guarded g = guard(span_of(piece));
	struct error err = ERROR_INIT;
	bool got_text = !text;
	size_t got = 99;

	if (!add_piece(choice, g.text, &got, &got_text, &err))
		fail_msg("%s: %s", piece, err.text);
	if (got != tokens || got_text != text)
		fail_msg("%s: %zu tokens, %s text", piece, got,
			 got_text ? "some" : "no");
	guard_free(&g);
}

static void check_written(const struct choice *choice, bool with_tokens,
			  const char *expected)
{
	struct buf out = test_buf();
	struct json_writer jw;
	struct error err;

	jw_init(&jw, &out);
	choice_write(choice, with_tokens, &jw);
	assert_true(jw_finish(&jw, &err));
	check_text(buf_span(&out), expected);
	assert_true(json_valid(buf_span(&out)));
	buf_release(&out);
}

/* What the pieces (NULL-terminated) amount to. */
static void check_joined(const char *const *pieces, const char *expected)
{
	struct choice choice;
	struct error err;

	choice_init(&choice, 0, NULL);
	for (; *pieces; pieces++) {
		size_t tokens;
		bool text;

		assert_true(add_piece(&choice, span_of(*pieces), &tokens, &text,
				      &err));
	}
	check_written(&choice, true, expected);
	choice_release(&choice);
}

#define JOINED(expected, ...) \
	check_joined((const char *const[]){ __VA_ARGS__, NULL }, (expected))

#define MESSAGE(members)                                                 \
	"{\"index\":0,\"message\":{\"role\":\"assistant\"," members "}," \
	"\"finish_reason\":null,\"logprobs\":null,\"token_ids\":null}"

static void test_choice__texts_are_joined_as_they_stand(void **state UNUSED)
{
	JOINED(MESSAGE("\"content\":null"), "{}");
	JOINED(MESSAGE("\"content\":\"\""), "{\"delta\":{\"content\":\"\"}}");
	JOINED(MESSAGE("\"content\":\"a\\u0000\\ud83d\\ude00b\""),
	       "{\"delta\":{\"role\":\"assistant\",\"content\":\"a\\u0000\"}}",
	       "{\"delta\":{\"content\":\"\\ud83d\"}}",
	       "{\"delta\":{\"content\":null}}",
	       "{\"delta\":{\"content\":\"\\ude00b\"}}");
	JOINED(MESSAGE("\"content\":null,\"reasoning\":\"x\","
		       "\"reasoning_content\":\"y\",\"refusal\":\"z\""),
	       "{\"delta\":{\"reasoning\":\"x\"}}",
	       "{\"message\":{\"reasoning_content\":\"y\",\"refusal\":\"z\"}}");
}

/* Some servers repeat in `message` what they stream. */
static void test_choice__a_delta_is_read_before_a_message(void **state UNUSED)
{
	JOINED(MESSAGE("\"content\":\"ab\""),
	       "{\"message\":{\"content\":\"a\"},\"delta\":{\"content\":"
	       "\"a\"}}",
	       "{\"delta\":{\"content\":\"b\"},\"message\":{\"content\":"
	       "\"ab\"}}");
	JOINED(MESSAGE("\"content\":\"a\""),
	       "{\"delta\":null,\"message\":{\"content\":\"a\"}}");
}

static void test_choice__tool_calls_are_joined_by_index(void **state UNUSED)
{
	JOINED(MESSAGE("\"content\":null,\"tool_calls\":[{\"id\":\"a\","
		       "\"type\":\"function\",\"function\":{\"name\":\"ls\","
		       "\"arguments\":\"{\\\"x\\\":1}\"}},{\"id\":\"b\","
		       "\"type\":\"custom\",\"function\":{\"name\":\"rm\","
		       "\"arguments\":\"{}\"}}]"),
	       "{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\","
	       "\"function\":{\"name\":\"ls\",\"arguments\":\"{\"}}]}}",
	       "{\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"b\","
	       "\"type\":\"custom\",\"function\":{\"name\":\"rm\"}},"
	       "{\"index\":0,\"function\":{\"arguments\":\"\\\"x\\\":\"}}]}}",
	       "{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\","
	       "\"function\":{\"name\":\"x\",\"arguments\":\"1}\"}},"
	       "{\"index\":1,\"function\":{\"arguments\":\"{}\"}}]}}");
}

static void test_choice__without_index_an_id_starts_a_call(void **state UNUSED)
{
	JOINED(MESSAGE("\"content\":null,\"tool_calls\":[{\"id\":\"a\","
		       "\"type\":\"function\",\"function\":{\"name\":\"ls\","
		       "\"arguments\":\"12\"}},{\"id\":\"b\","
		       "\"type\":\"function\",\"function\":{\"name\":null,"
		       "\"arguments\":\"3\"}}]"),
	       "{\"message\":{\"tool_calls\":[{\"id\":\"a\",\"function\":{"
	       "\"name\":\"ls\",\"arguments\":\"1\"}},{\"function\":{"
	       "\"arguments\":\"2\"}},{\"id\":\"b\",\"function\":{"
	       "\"arguments\":\"3\"}}]}}");
}

static void test_choice__function_calls_of_old_are_joined(void **state UNUSED)
{
	JOINED(MESSAGE("\"content\":null,\"function_call\":{\"name\":\"ls\","
		       "\"arguments\":\"{\\\"a\\\":1}\"}"),
	       "{\"delta\":{\"role\":\"assistant\",\"content\":null,"
	       "\"function_call\":{\"name\":\"ls\",\"arguments\":\"\"}}}",
	       "{\"delta\":{\"function_call\":{\"arguments\":\"{\\\"a\"}}}",
	       "{\"delta\":{\"function_call\":{\"arguments\":\"\\\":1}\"}}}",
	       "{\"delta\":{\"function_call\":null}}");
}

static void test_choice__custom_calls_are_joined(void **state UNUSED)
{
	JOINED(MESSAGE("\"content\":null,\"tool_calls\":[{\"id\":\"a\","
		       "\"type\":\"custom\",\"custom\":{\"name\":\"run\","
		       "\"input\":\"ls \\\"x\\\"\"}},{\"id\":\"b\",\"type\":"
		       "\"function\",\"function\":{\"name\":\"f\","
		       "\"arguments\":\"{}\"}}]"),
	       "{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"type\":"
	       "\"custom\",\"custom\":{\"name\":\"run\",\"input\":\"\"}}]}}",
	       "{\"delta\":{\"tool_calls\":[{\"index\":0,\"custom\":{\"input\":"
	       "\"ls \"}},{\"index\":1,\"id\":\"b\",\"function\":{\"name\":"
	       "\"f\",\"arguments\":\"{}\"}}]}}",
	       "{\"delta\":{\"tool_calls\":[{\"index\":0,\"custom\":{\"input\":"
	       "\"\\\"x\\\"\"}}]}}");
	JOINED(MESSAGE("\"content\":null,\"tool_calls\":[{\"id\":null,"
		       "\"type\":\"custom\",\"custom\":{\"name\":\"x\","
		       "\"input\":\"\"}},{\"id\":null,\"type\":\"mcp\","
		       "\"unjoined\":[{\"mcp\":{\"a\":1}}]}]"),
	       "{\"delta\":{\"tool_calls\":[{\"index\":0,\"custom\":{\"name\":"
	       "\"x\"}},{\"index\":1,\"type\":\"mcp\",\"mcp\":{\"a\":1}}]}}");
}

static void test_choice__parts_of_content_stay_as_they_came(void **state UNUSED)
{
	JOINED(MESSAGE("\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
		       "{\"type\":\"text\",\"text\":\"b\"}]"),
	       "{\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}}",
	       "{\"delta\":{\"content\":[]}}",
	       "{\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"b\"}]}"
	       "}");
	/* Texts between them are parts, too, in their place. */
	JOINED(MESSAGE("\"content\":[{\"type\":\"text\",\"text\":\"a\\nb\"},"
		       "{\"type\":\"thinking\",\"thinking\":[]},{\"type\":"
		       "\"text\",\"text\":\"cd\"}]"),
	       "{\"delta\":{\"content\":\"a\\n\"}}",
	       "{\"delta\":{\"content\":\"b\"}}",
	       "{\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":"
	       "[]}]}}",
	       "{\"delta\":{\"content\":\"c\"}}",
	       "{\"delta\":{\"content\":\"d\"}}");
}

static void test_choice__what_has_no_rule_of_joining_is_kept(
	void **state UNUSED)
{
	JOINED(MESSAGE("\"content\":\"a\",\"unjoined\":[{\"audio\":{\"id\":1},"
		       "\"n\":1.50},{\"audio\":{\"data\":\"x\"}},{"
		       "\"reasoning\":"
		       "[1]}]"),
	       "{\"delta\":{\"audio\":{\"id\":1},\"content\":\"a\",\"n\":1.50,"
	       "\"x\":null}}",
	       "{\"delta\":{\"audio\":{\"data\":\"x\"}}}",
	       "{\"delta\":{\"reasoning\":[1]}}");
	JOINED(MESSAGE("\"content\":null,\"tool_calls\":[{\"id\":\"a\","
		       "\"type\":\"function\",\"function\":{\"name\":\"f\","
		       "\"arguments\":\"\"},\"unjoined\":[{\"extra\":{\"s\":"
		       "\"x\"}},"
		       "{\"function\":{\"arguments\":{},\"y\":2}}]}],"
		       "\"function_call\":{\"name\":null,\"arguments\":\"\"},"
		       "\"unjoined\":[{\"function_call\":{\"z\":3}}]"),
	       "{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\","
	       "\"extra\":"
	       "{\"s\":\"x\"},\"function\":{\"name\":\"f\",\"arguments\":{},"
	       "\"y\":2}}],\"function_call\":{\"z\":3}}}");
}

static void test_choice__members_beside_the_delta_are_kept(void **state UNUSED)
{
	JOINED("{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":"
	       "\"a\"},"
	       "\"finish_reason\":\"stop\",\"unjoined\":[{\"filter\":{}},"
	       "{\"stop_reason\":151645,\"filter\":{\"x\":1}}],"
	       "\"logprobs\":null,\"token_ids\":null}",
	       "{\"delta\":{\"content\":\"a\"},\"stop_reason\":null,\"filter\":"
	       "{},"
	       "\"logprobs\":null,\"token_ids\":null}",
	       "{\"delta\":{},\"stop_reason\":151645,\"filter\":{\"x\":1},"
	       "\"finish_reason\":\"stop\"}");
}

static void test_choice__a_role_is_the_servers(void **state UNUSED)
{
	JOINED("{\"index\":0,\"message\":{\"role\":\"model\",\"content\":null},"
	       "\"finish_reason\":null,\"logprobs\":null,\"token_ids\":null}",
	       "{\"delta\":{\"role\":\"\"}}",
	       "{\"delta\":{\"role\":\"model\"}}",
	       "{\"delta\":{\"role\":\"user\"}}");
}

static void test_choice__odd_tool_calls_do_no_harm(void **state UNUSED)
{
	JOINED(MESSAGE("\"content\":null,\"unjoined\":[{\"tool_calls\":{"
		       "\"index\":"
		       "0}}]"),
	       "{\"delta\":{\"tool_calls\":null}}",
	       "{\"delta\":{\"tool_calls\":{\"index\":0}}}",
	       "{\"delta\":{\"tool_calls\":[]}}",
	       "{\"delta\":{\"tool_calls\":[null,1,\"x\",[]]}}");
	JOINED(MESSAGE("\"content\":null,\"tool_calls\":[{\"id\":null,"
		       "\"type\":\"function\",\"function\":{\"name\":null,"
		       "\"arguments\":\"\"},\"unjoined\":[{\"id\":1,"
		       "\"function\":"
		       "\"x\"}]}]"),
	       "{\"delta\":{\"tool_calls\":[{\"id\":1,\"function\":\"x\"}]}}",
	       "{\"delta\":{\"tool_calls\":[{\"index\":-1}]}}");
}

#define ENTRY(token, logprob) "{\"token\":" token ",\"logprob\":" logprob "}"

static void test_choice__tokens_are_copied_as_text(void **state UNUSED)
{
	struct choice choice;

	choice_init(&choice, 1, NULL);
	check_add(
		&choice,
		"{\"logprobs\":{\"content\":[" ENTRY(
			"\"a\\u0000\"",
			"-0.30000000000000004") "," ENTRY("\"b\"",
							  "-1e-9") "]},"
								   "\"token_"
								   "ids\":["
								   "90071992547"
								   "40993,2]}",
		2, false);
	check_add(&choice, "{\"delta\":{\"content\":\"x\"},\"token_ids\":[3]}",
		  1, true);
	check_add(&choice, "{\"delta\":{\"content\":\"\"},\"logprobs\":null}",
		  0, false);
	check_text(buf_span(&choice.tokens), "[\"a\\u0000\",\"b\"");
	check_text(buf_span(&choice.logps), "[-0.30000000000000004,-1e-9");
	check_choice_ids(&choice, "9007199254740993,2,3");
	assert_false(choice.bad_entry);
	check_written(
		&choice, true,
		"{\"index\":1,\"message\":{\"role\":\"assistant\","
		"\"content\":\"x\"},\"finish_reason\":null,"
		"\"logprobs\":{\"content\":[" ENTRY(
			"\"a\\u0000\"",
			"-0.30000000000000004") "," ENTRY("\"b\"",
							  "-1e-9") "]},\"token_"
								   "ids\":["
								   "90071992547"
								   "40993,2,3]"
								   "}");
	check_written(&choice, false,
		      "{\"index\":1,\"message\":{\"role\":\"assistant\","
		      "\"content\":\"x\"},\"finish_reason\":null}");
	choice_release(&choice);
}

/* Ids by whatever name or way the server tells them. */
static void check_ids(const char *piece, const char *expected)
{
	struct choice choice;
	struct error err;
	size_t tokens;
	bool text;

	choice_init(&choice, 0, NULL);
	assert_true(add_piece(&choice, span_of(piece), &tokens, &text, &err));
	check_choice_ids(&choice, expected);
	choice_release(&choice);
}

static void test_choice__ids_by_every_name(void **state UNUSED)
{
	check_ids("{\"token_ids\":[1, 2]}", "1,2");
	check_ids("{\"response_token_ids\":[3,4],\"prompt_token_ids\":[9]}",
		  "3,4");
	check_ids("{\"token_ids\":null,\"response_token_ids\":[3]}", "3");
	check_ids("{\"logprobs\":{\"content\":[{\"token\":\"a\",\"logprob\":0,"
		  "\"id\":5}]}}",
		  "5");
	check_ids("{\"logprobs\":{\"content\":[" ENTRY("\"token_id:64\"",
						       "0") "]}}",
		  "64");
	check_ids("{\"logprobs\":{\"content\":[" ENTRY("\"token_id:0\"",
						       "0") "]}}",
		  "0");
	check_ids("{\"token_ids\":[1],\"logprobs\":{\"content\":[" ENTRY(
			  "\"token_id:1\"", "0") "]}}",
		  "1");
}

static void test_choice__ids_are_not_made_up(void **state UNUSED)
{
	check_ids("{}", "");
	check_ids("{\"token_ids\":[]}", "");
	check_ids("{\"token_ids\":{\"a\":1}}", "");
	check_ids("{\"logprobs\":{\"content\":[{\"token\":\"a\",\"logprob\":0,"
		  "\"id\":5}," ENTRY("\"b\"", "0") "]}}",
		  "");
	check_ids("{\"logprobs\":{\"content\":[" ENTRY("\"token_id:x\"",
						       "0") "]}}",
		  "");
	check_ids("{\"logprobs\":{\"content\":[" ENTRY("\"token_id:\"",
						       "0") "]}}",
		  "");
	check_ids("{\"logprobs\":{\"content\":[" ENTRY("\"token_id:007\"",
						       "0") "]}}",
		  "");
}

static void check_bad(const char *members, bool bad)
{
	struct choice choice;
	struct error err;
	struct buf piece = test_buf();
	size_t tokens;
	bool text;

	choice_init(&choice, 0, NULL);
	putf(&piece, "{%s}", members);
	assert_true(add_piece(&choice, buf_span(&piece), &tokens, &text, &err));
	if (choice.bad_entry != bad)
		fail_msg("%s", members);
	choice_release(&choice);
	buf_release(&piece);
}

static void check_entry(const char *entry, bool bad)
{
	struct buf members = test_buf();

	putf(&members, "\"logprobs\":{\"content\":[%s]}", entry);
	check_bad(members.data, bad);
	buf_release(&members);
}

static void test_choice__unusable_entries_are_noticed(void **state UNUSED)
{
	check_entry(ENTRY("\"a\"", "0"), false);
	check_entry(ENTRY("\"a\"", "-0.0"), false);
	check_entry(ENTRY("\"\"", "-9998.9"), false);
	check_entry(ENTRY("\"a\"", "-9999.0"), true);
	check_entry(ENTRY("\"a\"", "-1e400"), true);
	check_entry(ENTRY("\"a\"", "1e-9"), true);
	check_entry(ENTRY("\"a\"", "null"), true);
	check_entry(ENTRY("\"a\"", "\"-1\""), true);
	check_entry(ENTRY("null", "-1"), true);
	check_entry("{\"token\":\"a\"}", true);
	check_entry("{\"logprob\":-1}", true);
	check_entry("null", true);
	check_entry(ENTRY("\"a\"", "-1") ",{}", true);
}

static void test_choice__unusable_ids_are_noticed(void **state UNUSED)
{
	check_bad("\"token_ids\":[1,0,18446744073709551615]", false);
	check_bad("\"token_ids\":[1,null]", true);
	check_bad("\"token_ids\":[\"1\"]", true);
	check_bad("\"token_ids\":[-1]", true);
	check_bad("\"token_ids\":[1.5]", true);
	check_bad("\"token_ids\":[[1]]", true);
}

static void check_finished(const char *reason, bool finished)
{
	struct buf piece = test_buf();
	struct choice choice;
	struct error err;
	size_t tokens;
	bool text;

	choice_init(&choice, 0, NULL);
	assert_false(choice_is_finished(&choice));
	putf(&piece, "{\"finish_reason\":%s}", reason);
	assert_true(add_piece(&choice, buf_span(&piece), &tokens, &text, &err));
	if (choice_is_finished(&choice) != finished)
		fail_msg("%s", reason);
	choice_release(&choice);
	buf_release(&piece);
}

static void test_choice__ends_for_a_reason_that_is_known(void **state UNUSED)
{
	check_finished("\"stop\"", true);
	check_finished("\"length\"", true);
	check_finished("\"tool_calls\"", true);
	check_finished("\"content_filter\"", true);
	check_finished("\"function_call\"", true);
	check_finished("\"st\\u006fp\"", true);
	check_finished("\"\"", false);
	check_finished("\"error\"", false);
	check_finished("\"unknown\"", false);
	check_finished("null", false);
	check_finished("1", false);
}

static void test_choice__the_last_reason_counts(void **state UNUSED)
{
	struct choice choice;

	choice_init(&choice, 0, NULL);
	check_add(&choice, "{\"finish_reason\":\"length\"}", 0, false);
	check_add(&choice, "{\"finish_reason\":\"stop\"}", 0, false);
	check_add(&choice, "{\"finish_reason\":null}", 0, false);
	check_text(buf_span(&choice.finish_reason), "\"stop\"");
	choice_release(&choice);
}

static void test_choice__odd_pieces_do_no_harm(void **state UNUSED)
{
	JOINED(MESSAGE("\"content\":null,\"unjoined\":[{\"content\":1}]"), "1",
	       "null", "[]",
	       "{\"delta\":1,\"message\":[],\"logprobs\":1,\"token_ids\":1}",
	       "{\"delta\":{\"content\":1}}", "{\"logprobs\":{}}",
	       "{\"logprobs\":{\"content\":null}}",
	       "{\"logprobs\":{\"content\":{}}}");
}

static void test_choice__tool_calls_have_a_limit(void **state UNUSED)
{
	struct choice choice;
	struct error err = ERROR_INIT;
	size_t tokens;
	bool text;

	choice_init(&choice, 0, NULL);
	for (int i = 0; i <= LIMIT_TOOL_CALLS; i++) {
		struct buf piece = test_buf();
		bool ok;

		putf(&piece, "{\"delta\":{\"tool_calls\":[{\"index\":%d}]}}",
		     i);
		ok = add_piece(&choice, buf_span(&piece), &tokens, &text, &err);
		assert_int_equal(ok, i < LIMIT_TOOL_CALLS);
		buf_release(&piece);
	}
	check_error(&err, ERROR_TOO_LARGE, "256 tool calls");
	choice_release(&choice);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choice__texts_are_joined_as_they_stand),
		cmocka_unit_test(test_choice__a_delta_is_read_before_a_message),
		cmocka_unit_test(test_choice__tool_calls_are_joined_by_index),
		cmocka_unit_test(
			test_choice__without_index_an_id_starts_a_call),
		cmocka_unit_test(test_choice__function_calls_of_old_are_joined),
		cmocka_unit_test(test_choice__custom_calls_are_joined),
		cmocka_unit_test(
			test_choice__parts_of_content_stay_as_they_came),
		cmocka_unit_test(
			test_choice__what_has_no_rule_of_joining_is_kept),
		cmocka_unit_test(
			test_choice__members_beside_the_delta_are_kept),
		cmocka_unit_test(test_choice__a_role_is_the_servers),
		cmocka_unit_test(test_choice__odd_tool_calls_do_no_harm),
		cmocka_unit_test(test_choice__tokens_are_copied_as_text),
		cmocka_unit_test(test_choice__ids_by_every_name),
		cmocka_unit_test(test_choice__ids_are_not_made_up),
		cmocka_unit_test(test_choice__unusable_entries_are_noticed),
		cmocka_unit_test(test_choice__unusable_ids_are_noticed),
		cmocka_unit_test(test_choice__ends_for_a_reason_that_is_known),
		cmocka_unit_test(test_choice__the_last_reason_counts),
		cmocka_unit_test(test_choice__odd_pieces_do_no_harm),
		cmocka_unit_test(test_choice__tool_calls_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
