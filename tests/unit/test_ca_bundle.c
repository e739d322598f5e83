/* Where certificate authorities are looked for. */
#include "shared/ca_bundle.h"

#include <string.h>

#include "shared/compiler.h"
#include "tests/unit/vectors.h"

/* The machine that is looked at: "NAME=value" and readable files. */
static const char *const *environment;
static const char *const *files;

static char *env(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; environment[i]; i++)
		if (!strncmp(environment[i], name, len) &&
		    environment[i][len] == '=')
			return (char *)(uintptr_t)&environment[i][len + 1];
	return NULL;
}

static bool readable(const char *path)
{
	for (size_t i = 0; files[i]; i++)
		if (!strcmp(files[i], path))
			return true;
	return false;
}

#define ON(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define NONE    ((const char *const[]){ NULL })

static void check_same(const char *got, const char *expected)
{
	if (expected)
		assert_string_equal(got, expected);
	else
		assert_null(got);
}

static void check_found(const char *const *with_environment,
			const char *const *with_files,
			struct ca_bundle expected)
{
	struct ca_bundle ca;

	environment = with_environment;
	files = with_files;
	ca = ca_bundle_find(env, readable);
	check_same(ca.file, expected.file);
	check_same(ca.extra, expected.extra);
	check_same(ca.dir, expected.dir);
}

#define FILE_IS(path) ((struct ca_bundle){ .file = (path) })
#define DEBIAN        "/etc/ssl/certs/ca-certificates.crt"
#define ALPINE        "/etc/ssl/cert.pem"

static void test_ca_bundle__systems(void **state UNUSED)
{
	check_found(NONE, NONE, FILE_IS(NULL));
	check_found(NONE, ON(DEBIAN), FILE_IS(DEBIAN));
	check_found(NONE, ON(ALPINE), FILE_IS(ALPINE));
	check_found(NONE, ON(ALPINE, DEBIAN), FILE_IS(DEBIAN));
	check_found(NONE, ON("/etc/pki/tls/certs/ca-bundle.crt"),
		    FILE_IS("/etc/pki/tls/certs/ca-bundle.crt"));
}

static void test_ca_bundle__environment_first(void **state UNUSED)
{
	check_found(ON("SSL_CERT_FILE=/a", "CURL_CA_BUNDLE=/b"),
		    ON(DEBIAN, "/a", "/b"), FILE_IS("/a"));
	check_found(ON("REQUESTS_CA_BUNDLE=/c", "CURL_CA_BUNDLE=/b"),
		    ON(DEBIAN, "/b", "/c"), FILE_IS("/b"));
	check_found(ON("REQUESTS_CA_BUNDLE=/c"), ON(DEBIAN, "/c"),
		    FILE_IS("/c"));
}

static void test_ca_bundle__unreadable_is_passed_over(void **state UNUSED)
{
	check_found(ON("SSL_CERT_FILE=/a", "CURL_CA_BUNDLE=/b"),
		    ON(DEBIAN, "/b"), FILE_IS("/b"));
	check_found(ON("SSL_CERT_FILE=/a"), ON(DEBIAN), FILE_IS(DEBIAN));
	check_found(ON("SSL_CERT_FILE="), ON(DEBIAN, ""), FILE_IS(DEBIAN));
	check_found(ON("NODE_EXTRA_CA_CERTS=/n"), ON(DEBIAN), FILE_IS(DEBIAN));
}

static void test_ca_bundle__extra_and_folder_are_added(void **state UNUSED)
{
	check_found(ON("NODE_EXTRA_CA_CERTS=/n", "SSL_CERT_DIR=/d"),
		    ON(DEBIAN, "/n"),
		    (struct ca_bundle){
			    .file = DEBIAN, .extra = "/n", .dir = "/d" });
	check_found(ON("NODE_EXTRA_CA_CERTS=/n"), ON("/n"), FILE_IS("/n"));
	check_found(ON("NODE_EXTRA_CA_CERTS=/n", "SSL_CERT_FILE=/n"),
		    ON(DEBIAN, "/n"), FILE_IS("/n"));
	check_found(ON("SSL_CERT_DIR="), ON(DEBIAN), FILE_IS(DEBIAN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ca_bundle__systems),
		cmocka_unit_test(test_ca_bundle__environment_first),
		cmocka_unit_test(test_ca_bundle__unreadable_is_passed_over),
		cmocka_unit_test(test_ca_bundle__extra_and_folder_are_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
