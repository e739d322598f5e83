/*
 * Listening, on evhttp: http_connection.c watches what comes in,
 * http_exchange.c hands it out.
 *
 * evhttp's listener, when no descriptor is left, is told of the waiting
 * connection again and again, as fast as the loop turns.  It rests for a moment
 * instead.
 */
#include "shared/http_exchange.h"

#include <assert.h>
#include <errno.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "shared/limits.h"
#include "shared/log.h"
#include "shared/loop.h"
#include "shared/mem.h"

/* Of a peer, where nothing else is said: http_server_set_patience(). */
#define PATIENCE_MS 60000

/* Of the listener, when no connection can be accepted. */
#define REST_MS 100

/* A listener's error tells no more than which evhttp it is of. */
static struct http_server *servers;

/* Port, and whether others than this machine can reach it. */
static void look_at_address(struct http_server *server)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address = { 0 };
	socklen_t len = sizeof(address);

	if (getsockname(evhttp_bound_socket_get_fd(server->socket),
			&address.any, &len) < 0)
		return;
	if (address.any.sa_family == AF_INET6) {
		server->port = ntohs(address.v6.sin6_port);
		server->is_loopback =
			IN6_IS_ADDR_LOOPBACK(&address.v6.sin6_addr);
	} else {
		server->port = ntohs(address.v4.sin_port);
		server->is_loopback =
			ntohl(address.v4.sin_addr.s_addr) >> 24 == 127;
	}
}

static struct evconnlistener *listener_of(const struct http_server *server)
{
	return evhttp_bound_socket_get_listener(server->socket);
}

static void on_rested(void *arg)
{
	struct http_server *server = arg;

	if (server->socket)
		evconnlistener_enable(listener_of(server));
}

static void on_accept_error(struct evconnlistener *listener, void *http)
{
	struct http_server *server = servers;

	while (server->http != http)
		server = server->next;
	if (!server->rested)
		log_warn("http", "no connection can be accepted: %s",
			 strerror(EVUTIL_SOCKET_ERROR()));
	server->rested = true;
	evconnlistener_disable(listener);
	loop_timer_start(server->rest, REST_MS);
}

static void configure(struct http_server *server)
{
	struct evhttp *http = server->http;

	/* What has come in has been seen to keep the limit (without CR LF). */
	evhttp_set_max_headers_size(http, LIMIT_HTTP_HEADERS);
	evhttp_set_max_body_size(http, LIMIT_HTTP_BODY);
	evhttp_set_allowed_methods(
		http, EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD |
			      EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE |
			      EVHTTP_REQ_OPTIONS | EVHTTP_REQ_PATCH);
	/* An answer without a type stays one. */
	evhttp_set_default_content_type(http, NULL);
	evhttp_set_bevcb(http, http_connection_new, &server->connections);
	evhttp_set_gencb(http, http_exchange_begin, server);
}

static struct http_server *server_new(struct loop *loop)
{
	struct http_server *server = xcalloc(1, sizeof(*server));

	server->loop = loop;
	server->http = evhttp_new(loop_base(loop));
	server->connections = (struct http_connections){
		.loop = loop,
		.patience_ms = PATIENCE_MS,
	};
	server->rest = loop_timer_new(loop, on_rested, server);
	server->next = servers;
	server->link = &servers;
	if (server->next)
		server->next->link = &server->next;
	servers = server;
	return server;
}

/* libevent looks names up, and does not say when that failed. */
static void set_bind_error(struct error *err, const char *host, unsigned port)
{
	if (errno == EADDRINUSE || errno == EADDRNOTAVAIL || errno == EACCES)
		error_set_errno(err, errno, "listen on %s port %u", host, port);
	else
		error_set(err, ERROR_USAGE,
			  "listen on %s port %u: no address of this machine",
			  host, port);
}

struct http_server *http_server_new(struct loop *loop, const char *host,
				    uint64_t port, http_request_fn *handler,
				    void *arg, struct error *err)
{
	struct http_server *server = server_new(loop);

	server->handler = handler;
	server->arg = arg;
	configure(server);
	errno = 0; /* a name that is not found leaves it */
	server->socket = evhttp_bind_socket_with_handle(server->http, host,
							(uint16_t)port);
	if (!server->socket) {
		set_bind_error(err, host, (unsigned)port);
		http_server_free(server);
		return NULL;
	}
	evconnlistener_set_error_cb(listener_of(server), on_accept_error);
	look_at_address(server);
	return server;
}

void http_server_set_patience(struct http_server *server, uint64_t ms)
{
	server->connections.patience_ms = ms;
}

bool http_server_is_loopback(const struct http_server *server)
{
	return server->is_loopback;
}

unsigned http_server_port(const struct http_server *server)
{
	return server->port;
}

void http_server_stop_listening(struct http_server *server)
{
	if (server->socket)
		evhttp_del_accept_socket(server->http, server->socket);
	server->socket = NULL;
}

size_t http_server_active(const struct http_server *server)
{
	return server->active;
}

void http_server_free(struct http_server *server)
{
	if (!server)
		return;
	assert(!server->active);
	evhttp_free(server->http);
	http_connections_release(&server->connections);
	loop_timer_free(server->rest);
	*server->link = server->next;
	if (server->next)
		server->next->link = server->link;
	free(server);
}

void http_server_cut_all(struct http_server *server)
{
	http_connections_cut(&server->connections);
}
