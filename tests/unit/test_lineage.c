/* Attempts, and prompts that do or do not continue the turn before. */
#include "proxy/lineage.h"

#include <stdio.h>

#include "tests/unit/vectors.h"

static struct lineages lineages;

static struct turn begin(uint64_t number, const char *session, const char *body)
{
	struct turn turn = {
		.number = number,
		.kind = TURN_AGENT,
		.session_id = span_of(session),
		.complete = true,
		.delivered = true,
	};

	lineage_begin(&lineages, &turn, span_of(body));
	return turn;
}

static void end(struct turn *turn, const char *prompt, const char *completion)
{
	turn->prompt_token_ids = span_of(prompt);
	turn->completion_token_ids = span_of(completion);
	lineage_end(&lineages, turn);
}

static void undelivered(struct turn *turn)
{
	turn->complete = turn->delivered = false;
	end(turn, NULL, NULL);
}

static void check_attempt(const struct turn *turn, uint64_t attempt,
			  uint64_t supersedes)
{
	assert_int_equal(turn->attempt, attempt);
	assert_int_equal(turn->supersedes, supersedes);
}

static void test_lineage__attempts(void **state UNUSED)
{
	struct turn turn;

	lineages_init(&lineages);
	turn = begin(1, "s", "long enough a body");
	check_attempt(&turn, 1, 0);
	undelivered(&turn);
	turn = begin(2, "s", "long enough a body");
	check_attempt(&turn, 2, 1);
	undelivered(&turn);
	turn = begin(3, "s", "long enough a body");
	check_attempt(&turn, 3, 2);
	end(&turn, NULL, NULL);
	turn = begin(4, "s", "long enough a body");
	check_attempt(&turn, 1, 0);
	undelivered(&turn);
	turn = begin(5, "s", "long enough a bodY");
	check_attempt(&turn, 1, 0);
	lineages_release(&lineages);
}

static void test_lineage__others_do_not_count(void **state UNUSED)
{
	struct turn turn, other;

	lineages_init(&lineages);
	turn = begin(1, "s", "body");
	undelivered(&turn);
	other = begin(2, "t", "body");
	check_attempt(&other, 1, 0);
	other = (struct turn){ .number = 3,
			       .kind = TURN_TITLE,
			       .session_id = SPAN("s") };
	lineage_begin(&lineages, &other, SPAN("body"));
	check_attempt(&other, 1, 0);
	turn = begin(4, "s", "body");
	check_attempt(&turn, 2, 1);
	/* Still under way: these are two calls. */
	turn = begin(5, "s", "body");
	check_attempt(&turn, 1, 0);
	lineages_release(&lineages);
}

/* The second turn's prompt; `at` < 0: it continues the first. */
static void check_prefix(const char *prompt, int at)
{
	struct turn turn;

	lineages_init(&lineages);
	turn = begin(1, "s", "a");
	end(&turn, "[1,22,3]", "[44,5]");
	assert_int_equal(turn.prefix_of, 0);
	turn = begin(2, "s", "b");
	end(&turn, prompt, "[9]");
	assert_int_equal(turn.prefix_of, 1);
	assert_int_equal(turn.prefix_broken, at >= 0);
	if (at >= 0 && turn.prefix_break != (uint64_t)at)
		fail_msg("%s: at %llu", prompt,
			 (unsigned long long)turn.prefix_break);
	lineages_release(&lineages);
}

static void test_lineage__prefixes(void **state UNUSED)
{
	check_prefix("[1,22,3,44,5,6,7]", -1);
	check_prefix("[1,22,3,44,5]", -1);
	check_prefix(" [ 1, 22,\n3 , 44,5, 6 ] ", -1);
	check_prefix("[2,22,3,44,5,6]", 0);
	check_prefix("[1,2,3,44,5,6]", 1);
	check_prefix("[1,222,3,44,5,6]", 1);
	check_prefix("[1,22,3,44,55]", 4);
	check_prefix("[1,22,3,4,5]", 3);
	check_prefix("[1,22,3,44]", 4);
	check_prefix("[1,22,3]", 3);
	check_prefix("[1]", 1);
}

static void test_lineage__incomplete_turns_are_passed_over(void **state UNUSED)
{
	struct turn turn;

	lineages_init(&lineages);
	turn = begin(1, "s", "a");
	end(&turn, "[1]", "[2]");
	turn = begin(2, "s", "b");
	turn.complete = false;
	end(&turn, "[1,2,3]", "[4]");
	assert_int_equal(turn.prefix_of, 0);
	turn = begin(3, "s", "b");
	end(&turn, "[1,2,3]", "[5]");
	assert_int_equal(turn.prefix_of, 1);
	assert_false(turn.prefix_broken);
	lineages_release(&lineages);
}

static void test_lineage__many_are_bounded(void **state UNUSED)
{
	char session[16];
	struct turn turn;

	lineages_init(&lineages);
	for (unsigned i = 0; i < 10 * LINEAGES_KEPT; i++) {
		snprintf(session, sizeof(session), "s%u", i);
		turn = begin(i + 1, session, "body");
		undelivered(&turn);
	}
	turn = begin(1000, session, "body");
	check_attempt(&turn, 2, 10 * LINEAGES_KEPT);
	turn = begin(1001, "s0", "body");
	check_attempt(&turn, 1, 0);
	lineages_release(&lineages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lineage__attempts),
		cmocka_unit_test(test_lineage__others_do_not_count),
		cmocka_unit_test(test_lineage__prefixes),
		cmocka_unit_test(
			test_lineage__incomplete_turns_are_passed_over),
		cmocka_unit_test(test_lineage__many_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
