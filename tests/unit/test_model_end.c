/* Who is to blame for an agent's end, told from the last turn. */
#include "controller/model_end.h"

#include <stdio.h>
#include <string.h>

#include "tests/unit/vectors.h"

/* The last line decides; of those before it only agents and subagents count. */
static enum model_end end_of(struct turn_line *lines, size_t count,
			     struct error *why)
{
	const struct trace_summary trace = { .turns = lines, .count = count };

	*why = (struct error)ERROR_INIT;
	return model_end_of(&trace, why);
}

static struct turn_line line_of(unsigned status, const char *reason)
{
	struct turn_line line = { .kind = TURN_AGENT,
				  .upstream_status = status };

	snprintf(line.abort_reason, sizeof(line.abort_reason), "%s", reason);
	snprintf(line.upstream_message, sizeof(line.upstream_message),
		 "its words");
	return line;
}

static void test_model_end__statuses(void **state UNUSED)
{
	static const struct {
		unsigned status;
		const char *reason;
		enum model_end end;
		enum error_kind kind;
		const char *word;
	} cases[] = {
		{ 0, "upstream: refused", MODEL_END_FAILED, ERROR_UNAVAILABLE,
		  "no answer (upstream: refused)" },
		{ 0, "the agent hung up", MODEL_END_FINE, ERROR_NONE, "" },
		{ 0, "the proxy was stopped", MODEL_END_FINE, ERROR_NONE, "" },
		{ 0, "not JSON", MODEL_END_FINE, ERROR_NONE, "" },
		{ 200, "upstream: reset", MODEL_END_FAILED, ERROR_UNAVAILABLE,
		  "not whole (upstream: reset)" },
		{ 200, "the agent hung up", MODEL_END_FINE, ERROR_NONE, "" },
		{ 400, "refused", MODEL_END_FINE, ERROR_NONE, "" },
		{ 401, "refused", MODEL_END_FAILED, ERROR_REFUSED, "key" },
		{ 402, "refused", MODEL_END_FAILED, ERROR_REFUSED, "paid" },
		{ 403, "refused", MODEL_END_FAILED, ERROR_REFUSED, "key" },
		{ 404, "refused", MODEL_END_FAILED, ERROR_REFUSED, "--model" },
		{ 408, "refused", MODEL_END_FAILED, ERROR_UNAVAILABLE, "busy" },
		{ 413, "refused", MODEL_END_FINE, ERROR_NONE, "" },
		{ 422, "refused", MODEL_END_FINE, ERROR_NONE, "" },
		{ 429, "refused", MODEL_END_FAILED, ERROR_UNAVAILABLE, "busy" },
		{ 500, "refused", MODEL_END_FAILED, ERROR_UNAVAILABLE,
		  "500 (its words)" },
		{ 529, "refused", MODEL_END_FAILED, ERROR_UNAVAILABLE, "529" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct turn_line line =
			line_of(cases[i].status, cases[i].reason);
		struct error why;

		assert_int_equal(end_of(&line, 1, &why), cases[i].end);
		assert_int_equal(why.kind, cases[i].kind);
		assert_non_null(strstr(why.text, cases[i].word));
	}
}

static void test_model_end__which_turn(void **state UNUSED)
{
	struct turn_line lines[] = { line_of(500, "refused"), line_of(200, ""),
				     line_of(500, "refused") };
	struct error why;

	assert_int_equal(end_of(lines, 0, &why), MODEL_END_FINE);
	assert_int_equal(end_of(lines, 3, &why), MODEL_END_FAILED);
	lines[1].complete = true;
	lines[2].kind = TURN_TITLE;
	assert_int_equal(end_of(lines, 3, &why), MODEL_END_FINE);
	lines[2].kind = TURN_SUBAGENT;
	assert_int_equal(end_of(lines, 3, &why), MODEL_END_FAILED);
	lines[0].kind = TURN_TITLE;
	assert_int_equal(end_of(lines, 1, &why), MODEL_END_FAILED);
}

static void test_model_end__full_window(void **state UNUSED)
{
	struct turn_line line = line_of(400, "refused");
	struct error why;

	line.overflow = true;
	assert_int_equal(end_of(&line, 1, &why), MODEL_END_OVERFLOW);
	assert_int_equal(why.kind, ERROR_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model_end__statuses),
		cmocka_unit_test(test_model_end__which_turn),
		cmocka_unit_test(test_model_end__full_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
