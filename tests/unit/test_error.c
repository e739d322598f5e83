/* Errors: the kind for the program, the text for people. */
#include "tests/unit/vectors.h"

#include <errno.h>
#include <string.h>

static const char *text_of(size_t len)
{
	static char text[1024];

	memset(text, 'x', len);
	text[len] = '\0';
	return text;
}

static void test_error__set_fills_and_returns_false(void **state UNUSED)
{
	struct error err = ERROR_INIT;

	assert_int_equal(err.kind, ERROR_NONE);
	assert_false(error_set(&err, ERROR_REFUSED, "%s %d", "no", 7));
	check_error(&err, ERROR_REFUSED, "no 7");
}

static void test_error__errno_names_the_reason(void **state UNUSED)
{
	struct error err;

	assert_false(error_set_errno(&err, ENOENT, "open %s", "f"));
	check_error(&err, ERROR_SYSTEM, "open f: No such file or directory");
}

static void test_error__wrap_prefixes_and_keeps_the_kind(void **state UNUSED)
{
	struct error err;

	error_set(&err, ERROR_TIMEOUT, "silent");
	assert_false(error_wrap(&err, "call %d", 3));
	assert_false(error_wrap(&err, "task"));
	assert_string_equal(err.text, "task: call 3: silent");
	assert_int_equal(err.kind, ERROR_TIMEOUT);
}

static void check_cut(void (*make)(struct error *), const char *start)
{
	struct error err;

	make(&err);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_int_equal(strncmp(err.text, start, strlen(start)), 0);
}

static void make_long(struct error *err)
{
	error_set(err, ERROR_USAGE, "%s", text_of(500));
}

static void make_long_errno(struct error *err)
{
	error_set_errno(err, EIO, "%s", text_of(500));
}

static void make_long_wrapped(struct error *err)
{
	make_long(err);
	error_wrap(err, "while");
}

static void make_long_prefix(struct error *err)
{
	error_set(err, ERROR_USAGE, "bad");
	error_wrap(err, "%s", text_of(500));
}

static void test_error__too_long_a_text_is_cut_at_its_end(void **state UNUSED)
{
	check_cut(make_long, "xxx");
	check_cut(make_long_errno, "xxx");
	check_cut(make_long_wrapped, "while: xxx");
	check_cut(make_long_prefix, "xxx");
}

static void test_error__only_silence_and_unavailability_pass(
	void **state UNUSED)
{
	for (enum error_kind k = ERROR_NONE; k <= ERROR_CANCELLED; k++) {
		const struct error err = { .kind = k };

		assert_int_equal(error_is_transient(&err),
				 k == ERROR_TIMEOUT || k == ERROR_UNAVAILABLE);
	}
}

static void test_error__each_kind_has_a_name_of_its_own(void **state UNUSED)
{
	for (enum error_kind k = ERROR_NONE; k <= ERROR_CANCELLED; k++)
		for (enum error_kind other = ERROR_NONE; other < k; other++)
			assert_string_not_equal(error_kind_name(k),
						error_kind_name(other));
	assert_string_equal(error_kind_name(ERROR_TOO_LARGE), "too_large");
	assert_string_equal(error_kind_name((enum error_kind)99), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_error__set_fills_and_returns_false),
		cmocka_unit_test(test_error__errno_names_the_reason),
		cmocka_unit_test(test_error__wrap_prefixes_and_keeps_the_kind),
		cmocka_unit_test(test_error__too_long_a_text_is_cut_at_its_end),
		cmocka_unit_test(
			test_error__only_silence_and_unavailability_pass),
		cmocka_unit_test(test_error__each_kind_has_a_name_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
