#ifndef SHARED_URL_H
#define SHARED_URL_H

#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * The base URL of a model endpoint, as a person gives it.  Source: RFC 3986.
 *
 * Accepted is http or https, a host, maybe a port and a path; a user name or
 * password (secrets do not belong into URLs), a query and a fragment are
 * refused.
 */
struct url {
	bool tls;
	char *host;    /* an IPv6 address without its brackets */
	unsigned port; /* the scheme's own if none was given */
	char *path;    /* "" or "/...", without a slash at the end */
	char *origin;  /* "http://host:port" as given, no slash at the end */
};

bool url_parse(const char *text, struct url *url, struct error *err) MUST_USE;
void url_release(struct url *url);

#endif
