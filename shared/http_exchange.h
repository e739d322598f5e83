#ifndef SHARED_HTTP_EXCHANGE_H
#define SHARED_HTTP_EXCHANGE_H

#include "shared/http_connection.h"
#include "shared/http_server.h"

/*
 * The inside of http_server.h, for http_server.c (which listens) and
 * http_exchange.c (one request and its answer).
 */
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

/* For evhttp_set_gencb(): hands the request to the server's handler. */
void http_exchange_begin(struct evhttp_request *request, void *server);

#endif
