#ifndef SHARED_HTTP_SERVER_H
#define SHARED_HTTP_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * Incoming HTTP: libevent's evhttp on the loop.
 *
 * The server calls its handler once a request is there as a whole.  From then
 * on the handler's owner answers it, at once or later, in one of two ways:
 *
 *	http_reply()
 *	http_reply_begin()  http_reply_write()*  http_reply_end()
 *
 * and http_reply_cut() instead of the end breaks the connection, so that the
 * peer sees an answer without its end.  Exactly one of http_reply, _end and
 * _cut must be called exactly once, also when the peer is gone; it ends the
 * exchange, which must not be used afterwards.
 *
 * on_gone comes when the peer has hung up, at any time before the end, at most
 * once.  A peer that only closes its sending side looks the same.
 *
 * Answered without the handler, the connection closed behind it: 400 to what
 * request_framing.h does not take for a request, 413 and 431 above the limits of
 * body and head, 501 to other methods, 417 to an expectation other than
 * 100-continue, 408 to a request that takes longer than patience to arrive, 503
 * above LIMIT_HTTP_HELD.  Idle connections are closed when patience ends, and
 * those above LIMIT_HTTP_CONNECTIONS at once.
 *
 * A handler does not learn how the target was written beyond its path and query
 * (an absolute one's host is dropped), nor of trailers, which are read and
 * dropped.
 */
struct http_server;
struct http_exchange;
struct loop;

typedef void http_request_fn(struct http_exchange *x, void *arg);
typedef void http_gone_fn(void *arg);
typedef void http_drained_fn(void *arg);

struct http_field {
	const char *name;
	const char *value;
};

/* Port 0: the system chooses. */
struct http_server *http_server_new(struct loop *loop, const char *host,
				    uint64_t port, http_request_fn *handler,
				    void *arg, struct error *err);
unsigned http_server_port(const struct http_server *server);

/* Nobody but this machine can reach it. */
bool http_server_is_loopback(const struct http_server *server);

/* How long a request may take to arrive, and its connection idle. */
void http_server_set_patience(struct http_server *server, uint64_t ms);

/* No new connections; those that are open go on. */
void http_server_stop_listening(struct http_server *server);

/* Close all connections, also those that a peer reads nothing from. */
void http_server_cut_all(struct http_server *server);

/* Requests that were handed out and whose answer has not left entirely. */
size_t http_server_active(const struct http_server *server);

/* Closes idle connections; none may be active. */
void http_server_free(struct http_server *server);

const char *http_exchange_method(const struct http_exchange *x);

/* Path and query as they came ("/v1/models", "a=1" or empty). */
struct span http_exchange_path(const struct http_exchange *x);
struct span http_exchange_query(const struct http_exchange *x);
const char *http_exchange_header(const struct http_exchange *x,
				 const char *name); /* NULL: absent */
typedef void http_field_fn(const char *name, const char *value, void *arg);
void http_exchange_headers(const struct http_exchange *x, http_field_fn *fn,
			   void *arg);
struct span http_exchange_body(const struct http_exchange *x);

/* Give the body's memory back early; it is empty from then on. */
void http_exchange_drop_body(struct http_exchange *x);

void http_exchange_on_gone(struct http_exchange *x, http_gone_fn *fn,
			   void *arg);

/*
 * Back-pressure: bytes written and not yet taken by the network.  on_drained
 * comes when they have become none, mostly from within http_reply_begin() or
 * http_reply_write(): it must not write, nor end the exchange.
 */
size_t http_reply_backlog(const struct http_exchange *x);
void http_exchange_on_drained(struct http_exchange *x, http_drained_fn *fn,
			      void *arg);

/* `fields` may be NULL; lengths and connection headers are added here. */
void http_reply(struct http_exchange *x, unsigned status,
		const struct http_field *fields, size_t count,
		struct span body);
void http_reply_json(struct http_exchange *x, unsigned status,
		     struct span body);
void http_reply_begin(struct http_exchange *x, unsigned status,
		      const struct http_field *fields, size_t count);
void http_reply_write(struct http_exchange *x, struct span bytes);
void http_reply_end(struct http_exchange *x);
void http_reply_cut(struct http_exchange *x);

#endif
