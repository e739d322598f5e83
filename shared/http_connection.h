#ifndef SHARED_HTTP_CONNECTION_H
#define SHARED_HTTP_CONNECTION_H

#include <stdint.h>

#include "shared/compiler.h"

/*
 * The connections of an HTTP server, watched; for http_exchange.h.
 *
 * evhttp is generous with what it takes for a request, and waits for one for
 * ever.  So every byte that comes in passes by here before evhttp sees it:
 * request_framing.h says what is refused.  Refused is: our own answer with
 * `Connection: close`, nothing of the request handed out, the rest read and
 * thrown away for a moment (or the kernel would take the answer back) and the
 * connection closed.  What is refused while the request before it is being
 * answered gets no answer: the connection closes behind the one under way.
 *
 * Bounded are, by limits.h, the connections, the bytes of requests that they
 * hold together, and the time: `patience_ms` for an idle connection and again
 * for a request from its first byte to its last.  Not from there on: answers
 * may take as long as they do.
 */
struct bufferevent;
struct evhttp_connection;
struct evhttp_request;
struct event_base;
struct http_connection;
struct loop;

typedef void http_closed_fn(void *arg);

struct http_connections {
	struct loop *loop;
	struct http_connection *first;
	uint64_t patience_ms;
	uint64_t held; /* bytes */
	unsigned count;
	bool full; /* said so already */
};

/* For evhttp_set_bevcb(). */
struct bufferevent *http_connection_new(struct event_base *base,
					void *connections);

/* Those that evhttp_free() has left. */
void http_connections_release(struct http_connections *all);

/*
 * evhttp has handed out a request.  NULL: it must not be answered but refused.
 * on_closed comes when evhttp frees the connection before _ended().
 */
struct http_connection *http_connection_began(struct http_connections *all,
					      struct evhttp_request *request,
					      http_closed_fn *on_closed,
					      void *arg) MUST_USE;

/* Close them all now, whatever they were about. */
void http_connections_cut(struct http_connections *all);

/* Its answer has left, or is not to be: nobody is called any more. */
void http_connection_ended(struct http_connection *c);

#endif
