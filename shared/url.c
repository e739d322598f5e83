/* Base URLs. */
#include "shared/url.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shared/mem.h"

static bool has_bad_byte(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text <= ' ' || *text == '\\' ||
		    *text == 0x7F)
			return true;
	return false;
}

static bool split_scheme(const char **text, bool *tls)
{
	if (!strncasecmp(*text, "http://", 7))
		*tls = false;
	else if (!strncasecmp(*text, "https://", 8))
		*tls = true;
	else
		return false;
	*text += *tls ? 8 : 7;
	return true;
}

/* "host", "host:port", "[::1]:port" */
static bool split_authority(struct span authority, bool tls, struct span *host,
			    unsigned *port)
{
	const char *end;
	struct span rest;
	uint64_t number;

	*port = tls ? 443 : 80;
	if (authority.len && authority.data[0] == '[') {
		end = memchr(authority.data, ']', authority.len);
		if (!end)
			return false;
		*host = span_from(authority.data + 1,
				  (size_t)(end - authority.data) - 1);
		rest = span_after(authority, host->len + 2);
	} else {
		end = memchr(authority.data, ':', authority.len);
		*host = authority;
		if (end)
			host->len = (size_t)(end - authority.data);
		rest = span_after(authority, host->len);
	}
	if (!rest.len)
		return host->len > 0;
	if (rest.data[0] != ':' || !span_to_u64(span_after(rest, 1), &number) ||
	    !number || number > 65535)
		return false;
	*port = (unsigned)number;
	return host->len > 0;
}

bool url_parse(const char *text, struct url *url, struct error *err)
{
	const char *rest = text;
	struct span host, path;
	unsigned port;
	size_t len;
	bool tls;

	if (has_bad_byte(text) || !split_scheme(&rest, &tls))
		return error_set(err, ERROR_USAGE,
				 "base URL must begin with http:// or https:// "
				 "and hold no spaces");
	if (strpbrk(rest, "?#"))
		return error_set(err, ERROR_USAGE,
				 "base URL must have no query and no fragment");
	len = strcspn(rest, "/");
	if (memchr(rest, '@', len))
		return error_set(err, ERROR_USAGE,
				 "base URL must hold no user name or password: "
				 "give the key apart");
	if (!split_authority(span_from(rest, len), tls, &host, &port))
		return error_set(err, ERROR_USAGE,
				 "base URL has a bad host or port");
	path = span_of(rest + len);
	while (path.len && path.data[path.len - 1] == '/')
		path.len--;
	*url = (struct url){
		.tls = tls,
		.host = xstrndup(host.data, host.len),
		.port = port,
		.path = xstrndup(path.data, path.len),
		.origin = xstrndup(text, (size_t)(rest - text) + len),
	};
	return true;
}

void url_release(struct url *url)
{
	free(url->host);
	free(url->path);
	free(url->origin);
	*url = (struct url){ 0 };
}
