/* Masking within JSON. */
#include "controller/mask_json.h"

#include "shared/json_scan.h"
#include "shared/log.h"
#include "tests/unit/vectors.h"

static int reset(void **state UNUSED)
{
	log_mask_clear();
	return 0;
}

static void check(const char *json, const char *expected)
{
	struct buf out = test_buf();
	struct error err;

	assert_true(mask_json(span_of(json), &out, &err));
	assert_true(json_valid(buf_span(&out)));
	assert_int_equal(out.len, strlen(expected));
	assert_memory_equal(out.data, expected, out.len);
	buf_release(&out);
}

static void test_mask_json__masks_what_strings_say(void **state UNUSED)
{
	log_mask("secret-number-1");
	check("{\"a secret-number-1\":[\"secret-number-1!\",\"x\"]}",
	      "{\"a ***************\":[\"***************!\",\"x\"]}");
	check("\"\\u0073ecret-number-1\"", "\"***************\"");
	check("[\"\\\"\", \"secret\"]", "[\"\\\"\", \"secret\"]");
}

static void test_mask_json__leaves_the_rest_alone(void **state UNUSED)
{
	static const char *const texts[] = {
		"{\"a\":123456789012,\"turns_exact\":null}",
		"[0.123456789012,\"\\ud800 \\/ \\u0061\"]",
		"\"\"",
		"7",
	};

	log_mask("123456789012");
	log_mask("\"turns_exact\":");
	log_mask("null,\"turns_exact");
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		check(texts[i], texts[i]);
}

/* As text it would begin in the middle of an escape, or end there. */
static void test_mask_json__breaks_no_escape(void **state UNUSED)
{
	log_mask("nvapi-1234567");
	log_mask("1234567890ab\\");
	check("\"\\nvapi-1234567\"", "\"\\nvapi-1234567\"");
	check("\"1234567890ab\\\"\"", "\"1234567890ab\\\"\"");
	check("\"1234567890ab\\\\\"", "\"*************\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
			test_mask_json__masks_what_strings_say, reset),
		cmocka_unit_test_teardown(test_mask_json__leaves_the_rest_alone,
					  reset),
		cmocka_unit_test_teardown(test_mask_json__breaks_no_escape,
					  reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
