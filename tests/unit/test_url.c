/* Base URLs as a person gives them. */
#include "shared/url.h"

#include "tests/unit/vectors.h"

static void check_url(const char *text, bool tls, const char *host,
		      unsigned port, const char *path, const char *origin)
{
	struct error err = ERROR_INIT;
	struct url url;

	if (!url_parse(text, &url, &err))
		fail_msg("%s: %s", text, err.text);
	assert_int_equal(url.tls, tls);
	assert_string_equal(url.host, host);
	assert_int_equal(url.port, port);
	assert_string_equal(url.path, path);
	assert_string_equal(url.origin, origin);
	url_release(&url);
	assert_null(url.host);
}

static void check_refused(const char *text, const char *why)
{
	struct url url = { .port = 42 };
	struct error err = ERROR_INIT;

	if (url_parse(text, &url, &err))
		fail_msg("accepted: %s", text);
	check_error(&err, ERROR_USAGE, why);
	assert_int_equal(url.port, 42);
	assert_null(url.host);
}

static void test_url__parts(void **state UNUSED)
{
	check_url("http://localhost", false, "localhost", 80, "",
		  "http://localhost");
	check_url("https://a.example/", true, "a.example", 443, "",
		  "https://a.example");
	check_url("http://127.0.0.1:8000/v1", false, "127.0.0.1", 8000, "/v1",
		  "http://127.0.0.1:8000");
	check_url("https://a.example/x/y//", true, "a.example", 443, "/x/y",
		  "https://a.example");
	check_url("HTTPS://A.example:1", true, "A.example", 1, "",
		  "HTTPS://A.example:1");
	check_url("http://[::1]:65535/v1", false, "::1", 65535, "/v1",
		  "http://[::1]:65535");
	check_url("http://[::1]", false, "::1", 80, "", "http://[::1]");
	check_url("http://h/a:b@c", false, "h", 80, "/a:b@c", "http://h");
}

static void test_url__another_scheme_is_refused(void **state UNUSED)
{
	check_refused("", "http://");
	check_refused("localhost:8000", "http://");
	check_refused("ftp://a", "http://");
	check_refused("http:/a", "http://");
	check_refused("httpss://a", "http://");
}

static void test_url__odd_bytes_are_refused(void **state UNUSED)
{
	check_refused("http://a b", "no spaces");
	check_refused(" http://a", "no spaces");
	check_refused("http://a\n", "no spaces");
	check_refused("http://a\x7F", "no spaces");
	check_refused("http://a\\b", "no spaces");
	check_refused("http://a/\x01", "no spaces");
}

static void test_url__secrets_queries_fragments_are_refused(void **state UNUSED)
{
	check_refused("http://user:pw@a", "no user name or password");
	check_refused("http://user@a", "no user name or password");
	check_refused("http://a?x=1", "no query");
	check_refused("http://a/b#c", "no fragment");
}

static void test_url__bad_hosts_and_ports_are_refused(void **state UNUSED)
{
	check_refused("http://", "host or port");
	check_refused("http:///v1", "host or port");
	check_refused("http://:80", "host or port");
	check_refused("http://a:", "host or port");
	check_refused("http://a:0", "host or port");
	check_refused("http://a:65536", "host or port");
	check_refused("http://a:99999999999999999999", "host or port");
	check_refused("http://a:80x", "host or port");
	check_refused("http://a:-1", "host or port");
	check_refused("http://a:1:2", "host or port");
	check_refused("http://::1", "host or port");
	check_refused("http://[::1", "host or port");
	check_refused("http://[]", "host or port");
	check_refused("http://[::1]x", "host or port");
	check_refused("http://[::1]80", "host or port");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_url__parts),
		cmocka_unit_test(test_url__another_scheme_is_refused),
		cmocka_unit_test(test_url__odd_bytes_are_refused),
		cmocka_unit_test(
			test_url__secrets_queries_fragments_are_refused),
		cmocka_unit_test(test_url__bad_hosts_and_ports_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
