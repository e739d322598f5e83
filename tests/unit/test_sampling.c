/* The value of --sampling is checked before anything is made of it. */
#include "shared/sampling.h"

#include "tests/unit/vectors.h"

static void check_accepted(const char *json)
{
	struct error err = ERROR_INIT;

	if (!sampling_check(span_of(json), &err))
		fail_msg("%s: %s", json, err.text);
}

static void check_refused(const char *json, const char *why)
{
	struct error err = ERROR_INIT;

	if (sampling_check(span_of(json), &err))
		fail_msg("accepted: %s", json);
	check_error(&err, ERROR_USAGE, why);
}

static void test_sampling__numbers_of_known_names(void **state UNUSED)
{
	check_accepted("{}");
	check_accepted("{\"temperature\":1,\"top_p\":1e-2,\"top_k\":-1,"
		       "\"min_p\":0,\"presence_penalty\":0,"
		       "\"frequency_penalty\":0,\"repetition_penalty\":1,"
		       "\"seed\":9007199254740993}");
}

static void test_sampling__other_names_are_refused(void **state UNUSED)
{
	check_refused("{\"temprature\":1}", "unknown member \"temprature\"");
	check_refused("{\"max_tokens\":1}", "unknown member \"max_tokens\"");
	check_refused("{\"seed\":1,\"model\":1}", "unknown member \"model\"");
}

static void test_sampling__other_values_are_refused(void **state UNUSED)
{
	check_refused("{\"seed\":\"1\"}", "\"seed\" must be a number");
	check_refused("{\"top_p\":null}", "\"top_p\" must be a number");
}

static void test_sampling__what_is_no_object_is_refused(void **state UNUSED)
{
	check_refused("[]", "not a JSON object");
	check_refused("{\"top_p\":1", "not a JSON object");
	check_refused("{\"top_p\":}", "not a JSON object");
	check_refused("{} x", "not a JSON object");
	check_refused("", "not a JSON object");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sampling__numbers_of_known_names),
		cmocka_unit_test(test_sampling__other_names_are_refused),
		cmocka_unit_test(test_sampling__other_values_are_refused),
		cmocka_unit_test(test_sampling__what_is_no_object_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
