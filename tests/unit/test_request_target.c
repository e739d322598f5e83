/* Targets of requests: paths, and addresses that name a server or not. */
#include "shared/request_target.h"

#include "tests/unit/vectors.h"

static bool is_target(const char *text)
{
	struct request_target t;

	request_target_init(&t);
	for (; *text; text++)
		if (!request_target_add(&t, *text))
			return false;
	return request_target_is_whole(&t);
}

static void test_request_target__paths_and_addresses(void **state UNUSED)
{
	static const char *const targets[] = {
		"/",
		"/v1/x?y=z#",
		"/?",
		"/a:b@[c",
		"//v1/x",
		"/%zz{|}",
		"http://a",
		"https://a",
		"http://a/",
		"http://a?x",
		"http://A-b_c.9/x",
		"http://a:/",
		"http://a:1",
		"http://a:65535/x:70000",
		"http://a#x",
		"//a:80/x",
	};

	for (size_t i = 0; i < ARRAY_LEN(targets); i++)
		if (!is_target(targets[i]))
			fail_msg("%s", targets[i]);
}

static void test_request_target__what_is_none(void **state UNUSED)
{
	static const char *const others[] = {
		"",
		"x",
		"*",
		"?x",
		"http",
		"http:",
		"http:/x",
		"http://",
		"https://",
		"http:///x",
		"//",
		"///x",
		"ftp://a/",
		"HTTP://a/",
		"httpx://a/",
		"https:/a",
		"http://:1",
		"http://a:x",
		"http://a:-1",
		"http://a:65536/",
		"http://[::1]/",
		"http://[::1",
		"http://u@a/",
		"http://u:p@a/",
		"http://a b",
		"http://a%41/",
		"http://a:99999999999999999999/",
		"//[/",
		"http://a\\b",
	};

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (is_target(others[i]))
			fail_msg("%s", others[i]);
}

static void test_request_target__no_nul(void **state UNUSED)
{
	static const char *const before[] = { "", "/", "h", "//a", "//a:1" };

	for (size_t i = 0; i < ARRAY_LEN(before); i++) {
		struct request_target t;

		request_target_init(&t);
		for (const char *c = before[i]; *c; c++)
			assert_true(request_target_add(&t, *c));
		assert_false(request_target_add(&t, '\0'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request_target__paths_and_addresses),
		cmocka_unit_test(test_request_target__what_is_none),
		cmocka_unit_test(test_request_target__no_nul),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
