#ifndef PROXY_PASSTHROUGH_H
#define PROXY_PASSTHROUGH_H

#include "shared/http_server.h"
#include "shared/span.h"

/*
 * A request that is none of our business (a list of models, say): sent on to
 * `path` below the upstream's base and its answer sent back, nothing recorded.
 */
struct proxy;

void passthrough_begin(struct proxy *proxy, struct http_exchange *http,
		       struct span path);

/* Break off what is under way. */
void passthrough_abort_all(struct proxy *proxy);

#endif
