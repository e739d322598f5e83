/* Growable bytes with a limit. */
#include "tests/unit/vectors.h"

#include <stdlib.h>
#include <string.h>

/* Adding `text` to what holds `before`, under a limit. */
static void check_add(size_t limit, const char *before, const char *text,
		      bool ok)
{
	struct error err = ERROR_INIT;
	struct buf buf, formatted;

	buf_init(&buf, limit);
	buf_init(&formatted, limit);
	put(&buf, span_of(before));
	put(&formatted, span_of(before));
	assert_int_equal(buf_add(&buf, span_of(text), &err), ok);
	assert_int_equal(buf_addf(&formatted, &err, "%s", text), ok);
	if (!ok)
		check_error(&err, ERROR_TOO_LARGE, "limit");
	assert_int_equal(buf.len, strlen(before) + (ok ? strlen(text) : 0));
	assert_int_equal(buf.data[buf.len], '\0');
	assert_string_equal(buf.data, formatted.data);
	buf_release(&buf);
	buf_release(&formatted);
}

static void test_buf__grows_up_to_its_limit(void **state UNUSED)
{
	check_add(4, "", "abc", true);
	check_add(4, "", "abcd", false);
	check_add(4, "ab", "c", true);
	check_add(4, "ab", "cd", false);
	check_add(4, "abc", "", true);
	check_add(1, "", "", true);
	check_add(1, "", "a", false);
	check_add(100, "", "a", true);
}

static void test_buf__error_names_the_limit(void **state UNUSED)
{
	struct error err;
	struct buf buf;

	buf_init(&buf, 101);
	assert_false(buf_reserve(&buf, 101, &err));
	check_error(&err, ERROR_TOO_LARGE, "limit of 100 bytes");
	assert_false(buf_reserve(&buf, SIZE_MAX, &err));
	assert_true(buf_reserve(&buf, 100, &err));
	buf_release(&buf);
}

static void test_buf__grows_through_every_size(void **state UNUSED)
{
	struct buf buf;

	buf_init(&buf, 5000);
	for (size_t i = 0; i < 4999; i++) {
		put(&buf, SPAN("x"));
		assert_int_equal(buf.len, i + 1);
		assert_int_equal(buf.data[buf.len], '\0');
	}
	assert_int_equal(strspn(buf.data, "x"), 4999);
	buf_release(&buf);
}

static void test_buf__consume_moves_the_rest_to_the_front(void **state UNUSED)
{
	struct buf buf = test_buf();

	buf_consume(&buf, 0);
	put(&buf, SPAN("abcdef"));
	buf_consume(&buf, 2);
	check_text(buf_span(&buf), "cdef");
	buf_consume(&buf, 4);
	assert_int_equal(buf.len, 0);
	assert_string_equal(buf.data, "");
	buf_release(&buf);
}

static void test_buf__clear_keeps_the_memory(void **state UNUSED)
{
	struct buf buf = test_buf();
	char *data;

	buf_clear(&buf);
	put(&buf, SPAN("abc"));
	data = buf.data;
	buf_clear(&buf);
	check_text(buf_span(&buf), "");
	put(&buf, SPAN("d"));
	assert_ptr_equal(buf.data, data);
	buf_release(&buf);
}

static void test_buf__detach_hands_over(void **state UNUSED)
{
	struct buf buf = test_buf();
	size_t len = 99;
	char *data;

	data = buf_detach(&buf, &len);
	assert_string_equal(data, "");
	assert_int_equal(len, 0);
	free(data);
	put(&buf, SPAN("a\0b"));
	data = buf_detach(&buf, &len);
	assert_int_equal(len, 3);
	assert_memory_equal(data, "a\0b", 4);
	assert_int_equal(buf.len, 0);
	assert_non_null(buf_span(&buf).data);
	free(data);
	put(&buf, SPAN("again"));
	data = buf_detach(&buf, NULL);
	assert_string_equal(data, "again");
	free(data);
}

static void consume_too_much(void)
{
	struct buf buf = test_buf();

	put(&buf, SPAN("ab"));
	buf_consume(&buf, 3);
}

static void test_buf__consuming_what_is_not_there_is_a_bug(void **state UNUSED)
{
	assert_int_not_equal(fate_of(consume_too_much), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buf__grows_up_to_its_limit),
		cmocka_unit_test(test_buf__error_names_the_limit),
		cmocka_unit_test(test_buf__grows_through_every_size),
		cmocka_unit_test(test_buf__consume_moves_the_rest_to_the_front),
		cmocka_unit_test(test_buf__clear_keeps_the_memory),
		cmocka_unit_test(test_buf__detach_hands_over),
		cmocka_unit_test(
			test_buf__consuming_what_is_not_there_is_a_bug),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
