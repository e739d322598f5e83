/* Base64. */
#include "shared/base64.h"

#include <string.h>

#include "tests/unit/vectors.h"

static void check_base64(struct span bytes, const char *expected)
{
	struct guarded g = guard(bytes);
	struct buf out = test_buf();
	struct error err;

	assert_true(base64_encode(g.text, &out, &err));
	check_text(buf_span(&out), expected);
	assert_int_equal(base64_length(bytes.len), strlen(expected));
	buf_release(&out);
	guard_free(&g);
}

/* RFC 4648 section 10. */
static void test_base64__vectors_of_the_rfc(void **state UNUSED)
{
	check_base64(SPAN(""), "");
	check_base64(SPAN("f"), "Zg==");
	check_base64(SPAN("fo"), "Zm8=");
	check_base64(SPAN("foo"), "Zm9v");
	check_base64(SPAN("foob"), "Zm9vYg==");
	check_base64(SPAN("fooba"), "Zm9vYmE=");
	check_base64(SPAN("foobar"), "Zm9vYmFy");
}

static void test_base64__bytes_of_all_kinds(void **state UNUSED)
{
	check_base64(SPAN("\0\0\0"), "AAAA");
	check_base64(SPAN("\xFF\xFF\xFF"), "////");
	check_base64(SPAN("\xFB\xEF\xBE"), "++++");
	check_base64(SPAN("\0"), "AA==");
	check_base64(SPAN("\xFF\xFE"), "//4=");
}

static void test_base64__adds_to_what_is_there(void **state UNUSED)
{
	struct buf out = test_buf();
	struct error err;

	put(&out, SPAN("x:"));
	assert_true(base64_encode(SPAN("foo"), &out, &err));
	check_text(buf_span(&out), "x:Zm9v");
	buf_release(&out);
}

static void test_base64__nothing_is_added_beyond_the_limit(void **state UNUSED)
{
	struct error err = ERROR_INIT;
	struct buf out;

	buf_init(&out, 8);
	assert_false(base64_encode(SPAN("foob"), &out, &err));
	check_error(&err, ERROR_TOO_LARGE, "limit");
	assert_int_equal(out.len, 0);
	assert_true(base64_encode(SPAN("foo"), &out, &err));
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_base64__vectors_of_the_rfc),
		cmocka_unit_test(test_base64__bytes_of_all_kinds),
		cmocka_unit_test(test_base64__adds_to_what_is_there),
		cmocka_unit_test(
			test_base64__nothing_is_added_beyond_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
