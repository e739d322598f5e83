/* The model server's address, and the headers that come back from it. */
#include "proxy/upstream.h"

#include <string.h>

#include "tests/unit/vectors.h"

static void check_base(const char *url, const char *expected)
{
	struct upstream upstream;
	struct error err = ERROR_INIT;

	if (!upstream_init(&upstream, url, "key", 1000, NULL, &err))
		fail_msg("%s: %s", url, err.text);
	assert_string_equal(upstream.base, expected);
	upstream_release(&upstream);
	assert_null(upstream.base);
}

static void test_upstream__v1_is_added_only_where_no_path_is(
	void **state UNUSED)
{
	check_base("http://h", "http://h/v1");
	check_base("http://h/", "http://h/v1");
	check_base("http://h:8000//", "http://h:8000/v1");
	check_base("https://h/v1", "https://h/v1");
	check_base("https://h/v1/", "https://h/v1");
	check_base("https://h/api/v2", "https://h/api/v2");
	check_base("http://[::1]:1", "http://[::1]:1/v1");
}

static void test_upstream__a_bad_address_is_refused(void **state UNUSED)
{
	struct upstream upstream = { .timeout_ms = 42 };
	struct error err = ERROR_INIT;

	assert_false(upstream_init(&upstream, "h:80", "key", 1, NULL, &err));
	check_error(&err, ERROR_USAGE, "base URL");
	assert_int_equal(upstream.timeout_ms, 42);
}

static void test_upstream__fields_are_found_in_any_case(void **state UNUSED)
{
	struct http_field items[] = {
		{ "Content-Type", "text/event-stream" },
		{ "X-A", "" },
		{ "x-a", "second" },
	};
	const struct upstream_fields fields = { .items = items, .count = 3 };

	assert_string_equal(upstream_fields_find(&fields, "content-type"),
			    "text/event-stream");
	assert_string_equal(upstream_fields_find(&fields, "X-a"), "");
	assert_null(upstream_fields_find(&fields, "content"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_upstream__v1_is_added_only_where_no_path_is),
		cmocka_unit_test(test_upstream__a_bad_address_is_refused),
		cmocka_unit_test(test_upstream__fields_are_found_in_any_case),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
