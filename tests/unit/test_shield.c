/* Which refusals an agent would misunderstand. */
#include "proxy/shield.h"

#include <string.h>

#include "shared/json_scan.h"
#include "tests/unit/vectors.h"

static void check_needed(unsigned status, const char *body, bool expected)
{
	if (shield_needed(status, span_of(body)) != expected)
		fail_msg("%u %s", status, body);
}

static void test_shield__words_that_make_it_ask_again(void **state UNUSED)
{
	check_needed(400, "below 15000", true);
	check_needed(401, "please Try Again", true);
	check_needed(404, "RATE LIMIT", true);
	check_needed(422, "Connection", true);
	check_needed(400, "no such model", false);
	check_needed(400, "", false);
	check_needed(400, "50 2", false);
}

static void test_shield__only_what_is_final(void **state UNUSED)
{
	check_needed(408, "try again", false);
	check_needed(409, "try again", false);
	check_needed(429, "try again", false);
	check_needed(500, "try again", false);
	check_needed(200, "try again", false);
}

static void test_shield__context_gets_its_code(void **state UNUSED)
{
	check_needed(400, "the maximum context length is 4096", true);
	check_needed(400, "\"code\":\"context_length_exceeded\"", false);
	check_needed(413, "prompt is too long", true);
}

static void check_written(const char *body, const char *code)
{
	struct buf out = test_buf();
	struct json_value error, value;
	struct error err;

	assert_true(shield_write(span_of(body), &out, &err));
	assert_true(json_valid(buf_span(&out)));
	assert_false(shield_needed(400, buf_span(&out)));
	assert_true(json_find(buf_span(&out), "error", &error));
	assert_true(json_find(error.text, "code", &value));
	check_text(value.text, code);
	buf_release(&out);
}

static void test_shield__its_own_words_are_safe(void **state UNUSED)
{
	check_written("try again", "null");
	check_written("context length 5000", "\"context_length_exceeded\"");
}

/* `instead` NULL: it stays. */
static void check_retry(const char *value, bool in_ms, const char *instead)
{
	char text[24];
	bool changed = shield_retry_after(value, in_ms, 30, text);

	if (changed != !!instead || (changed && strcmp(text, instead) != 0))
		fail_msg("%s: %s", value, changed ? text : "stays");
}

static void test_shield__retry_after(void **state UNUSED)
{
	check_retry("0", false, NULL);
	check_retry("30", false, NULL);
	check_retry("31", false, "30");
	check_retry("99999999999999999999999", false, "30");
	check_retry("1.5", false, "30");
	check_retry("30000", true, NULL);
	check_retry("30001", true, "30000");
	check_retry("Fri, 31 Dec 1999 23:59:59 GMT", false, NULL);
	check_retry("Fri, 31 Dec 2094 23:59:59 GMT", false, "30");
	check_retry("soon", false, NULL);
	check_retry("", false, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shield__words_that_make_it_ask_again),
		cmocka_unit_test(test_shield__only_what_is_final),
		cmocka_unit_test(test_shield__context_gets_its_code),
		cmocka_unit_test(test_shield__its_own_words_are_safe),
		cmocka_unit_test(test_shield__retry_after),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
