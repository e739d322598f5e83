/*
 * A request, and whether its peer is still there.
 *
 * evhttp does not look at the connection between a request and the first byte
 * of the reply, so a peer that hangs up meanwhile goes unnoticed.  Enabling
 * EV_READ would tell, but one pipelined byte then ends the process (2.1.12,
 * "illegal connection state").  An event of our own sees the hang up and reads
 * nothing: EV_CLOSED, and EV_READ, as which alone libevent reports a reset.
 *
 * It never sets TCP_NODELAY.
 */
#include "shared/http_exchange.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "shared/limits.h"
#include "shared/loop.h"
#include "shared/mem.h"

/* How soon a reset is seen behind bytes that wait to be read. */
#define LOOK_AGAIN_MS 100

void http_exchange_free(struct http_exchange *x)
{
	x->server->active--;
	event_free(x->closed);
	free(x);
}

static bool is_closed(evutil_socket_t fd)
{
	struct pollfd peer = { .fd = fd, .events = POLLRDHUP };

	return poll(&peer, 1, 0) > 0;
}

static void on_closed(evutil_socket_t fd, short what, void *arg);

/* Look at once when the peer closes, or bytes come, or else from time to time.
 */
static void watch_peer(struct http_exchange *x, evutil_socket_t fd, short what)
{
	const struct timeval again = { .tv_usec = LOOK_AGAIN_MS * 1000 };

	event_assign(x->closed, loop_base(x->server->loop), fd, what, on_closed,
		     x);
	event_add(x->closed, what & EV_READ ? NULL : &again);
}

static void on_closed(evutil_socket_t fd, short what, void *arg)
{
	struct http_exchange *x = arg;

	if (x->gone || x->ended)
		return;
	if (!(what & EV_CLOSED) && !is_closed(fd)) {
		/* Bytes of a next request would be reported for ever. */
		watch_peer(x, fd, EV_CLOSED);
		return;
	}
	x->gone = true;
	if (x->on_gone)
		x->on_gone(x->gone_arg);
}

/*
 * evhttp is about to free the connection.  The owner hears of it from the loop:
 * what it does then would not be safe from in here.
 */
static void on_connection_close(void *arg)
{
	struct http_exchange *x = arg;

	x->connection = NULL;
	event_del(x->closed);
	if (x->ended)
		http_exchange_free(x);
	else
		event_active(x->closed, EV_CLOSED, 0);
}

static void split_target(struct http_exchange *x)
{
	const struct evhttp_uri *uri =
		evhttp_request_get_evhttp_uri(x->request);

	x->path = span_of(evhttp_uri_get_path(uri));
	if (!x->path.len)
		x->path = SPAN("/");
	x->query = span_of(evhttp_uri_get_query(uri));
}

void http_exchange_begin(struct evhttp_request *request, void *arg)
{
	struct http_server *server = arg;
	struct bufferevent *bev = evhttp_connection_get_bufferevent(
		evhttp_request_get_connection(request));
	evutil_socket_t fd = bufferevent_getfd(bev);
	struct http_exchange *x = xcalloc(1, sizeof(*x));
	int one = 1;

	x->connection = http_connection_began(&server->connections, request,
					      on_connection_close, x);
	if (!x->connection) {
		evhttp_send_error(request, HTTP_BADREQUEST, NULL);
		free(x);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	bufferevent_set_max_single_write(bev, LIMIT_HTTP_REPLY_GAP);
	/* Or a target with a server in it would close the connection. */
	request->flags &= ~EVHTTP_PROXY_REQUEST;
	x->server = server;
	x->request = request;
	split_target(x);
	x->closed = event_new(loop_base(server->loop), -1, 0, on_closed, x);
	watch_peer(x, fd, EV_CLOSED | EV_READ);
	server->active++;
	server->handler(x, server->arg);
}

const char *http_exchange_method(const struct http_exchange *x)
{
	switch (evhttp_request_get_command(x->request)) {
	case EVHTTP_REQ_GET:
		return "GET";
	case EVHTTP_REQ_HEAD:
		return "HEAD";
	case EVHTTP_REQ_PUT:
		return "PUT";
	case EVHTTP_REQ_DELETE:
		return "DELETE";
	case EVHTTP_REQ_OPTIONS:
		return "OPTIONS";
	case EVHTTP_REQ_PATCH:
		return "PATCH";
	default:
		return "POST";
	}
}

struct span http_exchange_path(const struct http_exchange *x)
{
	return x->path;
}

struct span http_exchange_query(const struct http_exchange *x)
{
	return x->query;
}

const char *http_exchange_header(const struct http_exchange *x,
				 const char *name)
{
	return evhttp_find_header(evhttp_request_get_input_headers(x->request),
				  name);
}

void http_exchange_headers(const struct http_exchange *x, http_field_fn *fn,
			   void *arg)
{
	struct evkeyvalq *headers =
		evhttp_request_get_input_headers(x->request);
	struct evkeyval *field;

	for (field = headers->tqh_first; field; field = field->next.tqe_next)
		fn(field->key, field->value, arg);
}

struct span http_exchange_body(const struct http_exchange *x)
{
	struct evbuffer *body = evhttp_request_get_input_buffer(x->request);
	size_t len = evbuffer_get_length(body);

	if (!len)
		return SPAN("");
	return span_from((const char *)evbuffer_pullup(body, -1), len);
}

void http_exchange_drop_body(struct http_exchange *x)
{
	struct evbuffer *body = evhttp_request_get_input_buffer(x->request);

	evbuffer_drain(body, evbuffer_get_length(body));
}

void http_exchange_on_gone(struct http_exchange *x, http_gone_fn *fn, void *arg)
{
	x->on_gone = fn;
	x->gone_arg = arg;
}

void http_exchange_on_drained(struct http_exchange *x, http_drained_fn *fn,
			      void *arg)
{
	x->on_drained = fn;
	x->drained_arg = arg;
}
