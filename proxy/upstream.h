#ifndef PROXY_UPSTREAM_H
#define PROXY_UPSTREAM_H

#include <stdint.h>

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/http_client.h"
#include "shared/http_server.h"
#include "shared/span.h"

/*
 * The model server as the proxy sees it: where it is, and what a call to it
 * carries.
 *
 * Of the agent's headers all go along but those that belong to its connection
 * to us (RFC 9110 section 7.6.1), its own key, and Accept-Encoding: a
 * compressed stream could not be read.  Of the answer's headers all go back but
 * those of the connection and the length.
 */
struct upstream {
	char *base; /* without a slash at the end */
	const char *key;
	uint64_t timeout_ms;
	struct http_client *client;
};

/* /v1 is added only to a base URL without a path. */
bool upstream_init(struct upstream *upstream, const char *base_url,
		   const char *key, uint64_t timeout_ms,
		   struct http_client *client, struct error *err) MUST_USE;
void upstream_release(struct upstream *upstream);

/*
 * Send the agent's request on, to `path` below the base, with its query and the
 * given body, which is borrowed until the call ends.
 */
struct http_call *upstream_send(struct upstream *upstream,
				const struct http_exchange *from,
				struct span path, struct span body,
				const struct http_handler *handler, void *arg,
				struct error *err);

/* A GET of our own, to a path below the base. */
struct http_call *upstream_get(struct upstream *upstream, const char *path,
			       const struct http_handler *handler, void *arg,
			       struct error *err);

/* The answer's headers that the agent gets. */
struct upstream_fields {
	struct http_field *items; /* point into `text` */
	size_t count;
	char *text;
};

/* Retry-After is at most so long. */
void upstream_fields_copy(struct upstream_fields *fields,
			  const struct http_call *call, uint64_t retry_after_s);
void upstream_fields_release(struct upstream_fields *fields);
/*
 * Those that name versions of the server and the model (Server, OpenAI-Version,
 * X-Model-Version ...), as a JSON object; left empty when there are none.
 */
void upstream_fields_versions(const struct upstream_fields *fields,
			      struct buf *json);
const char *upstream_fields_find(const struct upstream_fields *fields,
				 const char *name);

#endif
