/* Allocation that cannot fail, and secrets. */
#include "shared/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "tests/unit/vectors.h"

static void check_secret(const char *a, const char *b, bool equal)
{
	struct guarded left = guard(span_from(a, strlen(a) + 1));
	struct guarded right = guard(span_from(b, strlen(b) + 1));

	assert_int_equal(secret_equals(left.text.data, right.text.data), equal);
	assert_int_equal(secret_equals(right.text.data, left.text.data), equal);
	guard_free(&left);
	guard_free(&right);
}

static void test_mem__secrets_compare_whole(void **state UNUSED)
{
	check_secret("sk-1234", "sk-1234", true);
	check_secret("", "", true);
	check_secret("sk-1234", "sk-1235", false);
	check_secret("xk-1234", "sk-1234", false);
	check_secret("sk-1234", "sk-123", false);
	check_secret("sk-1234", "", false);
	check_secret("a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false);
	check_secret("\x80", "\xFF", false);
}

static void test_mem__copies_of_texts(void **state UNUSED)
{
	char *part = xstrndup("abcdef", 3);
	char *whole = xstrdup("");
	char *made = xasprintf("%s/%d", part, 42);

	assert_string_equal(part, "abc");
	assert_string_equal(whole, "");
	assert_string_equal(made, "abc/42");
	free(part);
	free(whole);
	free(made);
}

static void test_mem__nothing_is_something(void **state UNUSED)
{
	char *none = xmalloc(0);
	unsigned char *zeroed = xcalloc(3, 2);

	assert_non_null(none);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(zeroed[i], 0);
	free(none);
	none = xcalloc(0, 8);
	assert_non_null(none);
	free(none);
	free(zeroed);
}

static void ask_for_more_than_there_is(void)
{
	free(xrealloc_array(NULL, SIZE_MAX / 2, 16));
}

static void test_mem__overflow_ends_the_process(void **state UNUSED)
{
	assert_int_equal(fate_of(ask_for_more_than_there_is), EX_SOFTWARE);
}

static void test_mem__wipe_leaves_zeros(void **state UNUSED)
{
	char secret[] = "sk-1234";

	mem_wipe(NULL, 0);
	mem_wipe(secret, 6);
	assert_memory_equal(secret,
			    "\0\0\0\0\0\0"
			    "4",
			    8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mem__secrets_compare_whole),
		cmocka_unit_test(test_mem__copies_of_texts),
		cmocka_unit_test(test_mem__nothing_is_something),
		cmocka_unit_test(test_mem__overflow_ends_the_process),
		cmocka_unit_test(test_mem__wipe_leaves_zeros),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
