#ifndef SHARED_CA_BUNDLE_H
#define SHARED_CA_BUNDLE_H

#include <stdbool.h>

/*
 * The certificate authorities that a server's certificate is checked against.
 *
 * A static program has no list of its own and does not know the system that it
 * wakes up on, so they are looked for where other programs find them: in the
 * environment (SSL_CERT_FILE, CURL_CA_BUNDLE, REQUESTS_CA_BUNDLE), else where
 * the distributions put them.  What names no readable file is passed over.
 */
struct ca_bundle {
	const char *file;  /* NULL: there is none */
	const char *extra; /* NODE_EXTRA_CA_CERTS: besides `file`; or NULL */
	const char *dir;   /* SSL_CERT_DIR: besides both; or NULL */
};

typedef char *ca_getenv_fn(const char *name);
typedef bool ca_readable_fn(const char *path);

/* All that is found is borrowed from the environment or constant. */
struct ca_bundle ca_bundle_find(ca_getenv_fn *env, ca_readable_fn *readable);

#endif
