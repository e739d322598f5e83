#ifndef SHARED_HTTP_EXCHANGE_H
#define SHARED_HTTP_EXCHANGE_H

#include "shared/http_connection.h"
#include "shared/http_server.h"

/*
 * The inside of http_server.h, for http_server.c (which listens),
 * http_exchange.c (a request and its peer) and http_reply.c (the answer).
 */
struct event;
struct evhttp;
struct evhttp_bound_socket;
struct evhttp_request;
struct loop_timer;

struct http_server {
	struct http_server *next, **link; /* in `servers` */
	struct loop *loop;
	struct evhttp *http;
	struct evhttp_bound_socket *socket; /* NULL: no longer listening */
	struct http_connections connections;
	struct loop_timer *rest;
	bool rested; /* said so already */
	unsigned port;
	bool is_loopback;
	http_request_fn *handler;
	void *arg;
	size_t active;
};

struct http_exchange {
	struct http_server *server;
	struct evhttp_request *request;
	struct http_connection *connection; /* NULL: evhttp has freed it */
	struct event *closed;               /* fires when the peer hangs up */
	http_gone_fn *on_gone;
	void *gone_arg;
	http_drained_fn *on_drained;
	void *drained_arg;
	struct span path, query;
	bool gone;
	bool ended; /* only waits for its last bytes to leave */
};

/* For evhttp_set_gencb(): hands the request to the server's handler. */
void http_exchange_begin(struct evhttp_request *request, void *server);

void http_exchange_free(struct http_exchange *x);

#endif
