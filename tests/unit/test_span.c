/* Questions about borrowed bytes. */
#include "tests/unit/vectors.h"

#include <string.h>

static void test_span__of_null_is_none(void **state UNUSED)
{
	assert_null(span_of(NULL).data);
	assert_int_equal(span_of(NULL).len, 0);
	assert_int_equal(span_of("abc").len, 3);
	assert_int_equal(SPAN("a\0b").len, 3);
}

static void test_span__equals_compares_bytes(void **state UNUSED)
{
	assert_true(span_equals(SPAN("a\0b"), SPAN("a\0b")));
	assert_false(span_equals(SPAN("a\0b"), SPAN("a\0c")));
	assert_false(span_equals(SPAN("a"), SPAN("ab")));
	assert_true(span_equals(SPAN_NONE, SPAN("")));
	assert_true(span_is(SPAN_NONE, ""));
	assert_false(span_is(SPAN("a\0"), "a"));
}

static void test_span__case_is_ignored_only_for_ascii(void **state UNUSED)
{
	assert_true(span_is_nocase(SPAN("Content-TYPE"), "content-type"));
	assert_false(span_is_nocase(SPAN("content-typ"), "content-type"));
	assert_false(span_is_nocase(SPAN("\xC3\x84"), "\xC3\xA4"));
	assert_true(span_is_nocase(SPAN_NONE, ""));
}

static void test_span__starts_with_and_contains(void **state UNUSED)
{
	assert_true(span_starts_with(SPAN("data: x"), "data:"));
	assert_true(span_starts_with(SPAN("x"), ""));
	assert_true(span_starts_with(SPAN_NONE, ""));
	assert_false(span_starts_with(SPAN("dat"), "data"));
	assert_true(span_contains(SPAN("a\0bc"), "bc"));
	assert_false(span_contains(SPAN("ab"), "abc"));
	assert_false(span_contains(SPAN_NONE, "a"));
}

static void check_trim(struct span text, const char *expected)
{
	struct guarded g = guard(text);

	check_text(span_trim(g.text), expected);
	guard_free(&g);
}

static void test_span__trim_takes_blanks_at_both_ends(void **state UNUSED)
{
	check_trim(SPAN(" \t\r\n a b \n"), "a b");
	check_trim(SPAN("a"), "a");
	check_trim(SPAN(" \n "), "");
	check_trim(SPAN(""), "");
	check_trim(SPAN("\v a"), "\v a");
}

static void check_number(const char *text, bool ok, uint64_t expected)
{
	struct guarded g = guard(span_of(text));
	uint64_t value = 42;

	if (span_to_u64(g.text, &value) != ok)
		fail_msg("%s: %s", text, ok ? "refused" : "accepted");
	assert_int_equal(value, ok ? expected : 42);
	guard_free(&g);
}

static void test_span__numbers_to_the_last_that_fits(void **state UNUSED)
{
	check_number("0", true, 0);
	check_number("007", true, 7);
	check_number("9007199254740993", true, 9007199254740993u);
	check_number("18446744073709551615", true, UINT64_MAX);
	check_number("18446744073709551616", false, 0);
	check_number("99999999999999999999", false, 0);
	check_number("", false, 0);
	check_number("-1", false, 0);
	check_number("+1", false, 0);
	check_number(" 1", false, 0);
	check_number("1 ", false, 0);
	check_number("1.0", false, 0);
	check_number("0x1", false, 0);
	check_number("/", false, 0);
	check_number(":", false, 0);
	check_number("\xB1", false, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_span__of_null_is_none),
		cmocka_unit_test(test_span__equals_compares_bytes),
		cmocka_unit_test(test_span__case_is_ignored_only_for_ascii),
		cmocka_unit_test(test_span__starts_with_and_contains),
		cmocka_unit_test(test_span__trim_takes_blanks_at_both_ends),
		cmocka_unit_test(test_span__numbers_to_the_last_that_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
