/* Paths of requests: whose call they are, however they are spelled. */
#include "proxy/request_path.h"

#include "tests/unit/vectors.h"

static void test_request_path__climbs(void **state UNUSED)
{
	static const char *const paths[] = {
		"",      "v1",        "/..",       "/../",       "/a/../b",
		"/a/..", "/%2e%2E/x", "/a%2f..",   "/a\\b",      "/a%5Cb",
		"/a%00", "/.%2e",     "http://a/", "/v1/../../", "/..%2Fadmin",
	};

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		assert_true(request_path_climbs(span_of(paths[i])));
}

static void test_request_path__stays(void **state UNUSED)
{
	static const char *const paths[] = {
		"/",     "/v1/models", "/.",    "/...",  "/a..b",
		"/..a/", "/a../",      "/%2e/", "/%zz%", "/v1//x",
	};

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		assert_false(request_path_climbs(span_of(paths[i])));
}

static void test_request_path__chat(void **state UNUSED)
{
	static const char *const chats[] = {
		"/chat/completions",          "/v1/chat/completions",
		"/v1/chat/completions/",      "/chat/completion%73",
		"/a%2Fchat%2fcompletions%2f",
	};
	static const char *const others[] = {
		"/",
		"/completions",
		"/v1/models",
		"/chat/completions//",
		"/chat/completionsx",
		"/xchat/completions",
		"/chat/completions/x",
		"/chat/completion%7",
	};

	for (size_t i = 0; i < ARRAY_LEN(chats); i++)
		assert_true(request_path_is_chat(span_of(chats[i])));
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_false(request_path_is_chat(span_of(others[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request_path__climbs),
		cmocka_unit_test(test_request_path__stays),
		cmocka_unit_test(test_request_path__chat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
