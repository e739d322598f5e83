/* What a call was for. */
#include "shared/request_kind.h"

#include "tests/unit/vectors.h"

#define TOOLS ",\"tools\":[{\"type\":\"function\"}]"

static void check_kind(const char *body, bool has_parent,
		       enum turn_kind expected)
{
	struct guarded g = guard(span_of(body));
	enum turn_kind kind = request_kind(g.text, NULL, has_parent);

	if (kind != expected)
		fail_msg("%s: %s instead of %s", body, turn_kind_name(kind),
			 turn_kind_name(expected));
	guard_free(&g);
}

/* A request whose first message is this system prompt. */
static void check_prompt(const char *prompt, enum turn_kind expected)
{
	struct buf body = test_buf();

	putf(&body,
	     "{\"messages\":[{\"role\":\"system\",\"content\":\"%s\"},"
	     "{\"role\":\"user\",\"content\":\"You are opencode\"}]}",
	     prompt);
	check_kind(body.data, false, expected);
	buf_clear(&body);
	putf(&body,
	     "{\"messages\":[{\"content\":[{\"type\":\"text\",\"text\":\"%s\"},"
	     "{\"text\":\"x\"}]}]}",
	     prompt);
	check_kind(body.data, false, expected);
	buf_release(&body);
}

static void test_request_kind__a_call_with_tools_is_the_agents(
	void **state UNUSED)
{
	check_kind("{\"messages\":[]" TOOLS "}", false, TURN_AGENT);
	check_kind("{\"messages\":[{\"content\":\"You are a title "
		   "generator\"}]" TOOLS "}",
		   false, TURN_AGENT);
	check_kind("{\"messages\":[]" TOOLS "}", true, TURN_SUBAGENT);
}

static void test_request_kind__known_prompts(void **state UNUSED)
{
	check_prompt("You are a title generator. x", TURN_TITLE);
	check_prompt("You are a context summarization agent", TURN_COMPACTION);
	check_prompt("You are a helpful AI assistant tasked with summarizing "
		     "conversations",
		     TURN_COMPACTION);
	check_prompt("You are opencode, an agent", TURN_AGENT);
	check_prompt("\\u0059ou are a title generator", TURN_TITLE);
}

static void test_request_kind__unknown_prompts_are_other(void **state UNUSED)
{
	check_prompt("", TURN_OTHER);
	check_prompt("Hello", TURN_OTHER);
	check_prompt(" You are a title generator", TURN_OTHER);
	check_prompt("You are a title", TURN_OTHER);
}

static void test_request_kind__a_parent_makes_it_a_subagents(
	void **state UNUSED)
{
	check_kind("{\"messages\":[{\"content\":\"x\"}]}", true, TURN_SUBAGENT);
	check_kind("{}", true, TURN_SUBAGENT);
	check_kind("{\"messages\":[{\"content\":\"You are a title generator\"}]"
		   "}",
		   true, TURN_TITLE);
	check_kind("{\"messages\":[{\"content\":\"You are a context "
		   "summarization agent\"}]}",
		   true, TURN_COMPACTION);
}

static void test_request_kind__no_tools_in_the_list_is_none(void **state UNUSED)
{
	check_kind("{\"tools\":[]}", false, TURN_OTHER);
	check_kind("{\"tools\":[ ]}", false, TURN_OTHER);
	check_kind("{\"tools\":null}", false, TURN_OTHER);
	check_kind("{\"tools\":{\"a\":1}}", false, TURN_OTHER);
	check_kind("{\"tool\":[1]}", false, TURN_OTHER);
	check_kind("{\"x\":{\"tools\":[1]}}", false, TURN_OTHER);
}

static void test_request_kind__works_on_any_bytes(void **state UNUSED)
{
	static const char *const bodies[] = {
		"",
		"{",
		"[]",
		"null",
		"\"",
		"{\"messages\":1}",
		"{\"messages\":[]}",
		"{\"messages\":[1]}",
		"{\"messages\":[null]}",
		"{\"messages\":[{}]}",
		"{\"messages\":[{\"content\":1}]}",
		"{\"messages\":[{\"content\":[]}]}",
		"{\"messages\":[{\"content\":[1]}]}",
		"{\"messages\":[{\"content\":[{\"text\":1}]}]}",
		"{\"messages\":[{\"content\":\"You are opencode\"}",
		"\xFF",
	};

	for (size_t i = 0; i < ARRAY_LEN(bodies); i++)
		check_kind(bodies[i], false, TURN_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_request_kind__a_call_with_tools_is_the_agents),
		cmocka_unit_test(test_request_kind__known_prompts),
		cmocka_unit_test(test_request_kind__unknown_prompts_are_other),
		cmocka_unit_test(
			test_request_kind__a_parent_makes_it_a_subagents),
		cmocka_unit_test(
			test_request_kind__no_tools_in_the_list_is_none),
		cmocka_unit_test(test_request_kind__works_on_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
