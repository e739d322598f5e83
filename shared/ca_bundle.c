#include "shared/ca_bundle.h"

#include <stddef.h>
#include <string.h>

#include "shared/compiler.h"

static const char *const variables[] = {
	"SSL_CERT_FILE",
	"CURL_CA_BUNDLE",
	"REQUESTS_CA_BUNDLE",
};

static const char *const usual_files[] = {
	"/etc/ssl/certs/ca-certificates.crt", /* Debian, Arch, Gentoo */
	"/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora, RHEL */
	"/etc/ssl/ca-bundle.pem",             /* openSUSE */
	"/etc/pki/tls/cacert.pem",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* CentOS 7 */
	"/etc/ssl/cert.pem",                                 /* Alpine */
};

static const char *from_env(const char *name, ca_getenv_fn *env,
			    ca_readable_fn *readable)
{
	const char *path = env(name);

	return path && *path && readable(path) ? path : NULL;
}

static const char *find_file(ca_getenv_fn *env, ca_readable_fn *readable)
{
	for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
		const char *path = from_env(variables[i], env, readable);

		if (path)
			return path;
	}
	for (size_t i = 0; i < ARRAY_LEN(usual_files); i++)
		if (readable(usual_files[i]))
			return usual_files[i];
	return NULL;
}

struct ca_bundle ca_bundle_find(ca_getenv_fn *env, ca_readable_fn *readable)
{
	struct ca_bundle ca = {
		.file = find_file(env, readable),
		.extra = from_env("NODE_EXTRA_CA_CERTS", env, readable),
		.dir = env("SSL_CERT_DIR"),
	};

	if (ca.dir && !*ca.dir)
		ca.dir = NULL;
	if (!ca.file)
		ca.file = ca.extra;
	if (ca.extra && !strcmp(ca.extra, ca.file))
		ca.extra = NULL;
	return ca;
}
