/*
 * One request and its answer, on evhttp, with what that lacks.
 *
 * It does not look at the connection between a request and the first byte of
 * the reply, so a peer that hangs up meanwhile goes unnoticed.  Enabling
 * EV_READ would tell, but one pipelined byte then ends the process (2.1.12,
 * "illegal connection state").  An event of our own sees the hang up and reads
 * nothing: EV_CLOSED, and EV_READ, as which alone libevent reports a reset.
 *
 * It never sets TCP_NODELAY.
 *
 * What an exchange writes is written at once, not when epoll has said it may.
 */
#include "shared/http_exchange.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "shared/limits.h"
#include "shared/log.h"
#include "shared/loop.h"
#include "shared/mem.h"

/* How soon a reset is seen behind bytes that wait to be read. */
#define LOOK_AGAIN_MS 100

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

static void exchange_free(struct http_exchange *x)
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
		exchange_free(x);
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

size_t http_reply_backlog(const struct http_exchange *x)
{
	struct evhttp_connection *connection =
		evhttp_request_get_connection(x->request);

	if (!connection)
		return 0;
	return evbuffer_get_length(bufferevent_get_output(
		evhttp_connection_get_bufferevent(connection)));
}

static void add_fields(struct http_exchange *x, const struct http_field *fields,
		       size_t count)
{
	struct evkeyvalq *out = evhttp_request_get_output_headers(x->request);

	for (size_t i = 0; i < count; i++)
		evhttp_add_header(out, fields[i].name, fields[i].value);
	if (!x->server->socket)
		evhttp_add_header(out, "Connection", "close");
}

/* The last bytes are with the kernel. */
static void on_flushed(struct evhttp_request *request UNUSED, void *arg)
{
	struct http_exchange *x = arg;

	http_connection_ended(x->connection);
	exchange_free(x);
}

/* The request, for the evhttp call that ends it. */
static struct evhttp_request *end_exchange(struct http_exchange *x)
{
	struct evhttp_request *request = x->request;

	x->ended = true;
	event_del(x->closed);
	if (evhttp_request_get_connection(request))
		evhttp_request_set_on_complete_cb(request, on_flushed, x);
	else
		exchange_free(x);
	return request;
}

void http_reply(struct http_exchange *x, unsigned status,
		const struct http_field *fields, size_t count, struct span body)
{
	struct evbuffer *out = evbuffer_new();
	char length[24];

	add_fields(x, fields, count);
	if (evhttp_request_get_command(x->request) == EVHTTP_REQ_HEAD) {
		/* Its head is that of the GET; bytes would be another's. */
		snprintf(length, sizeof(length), "%zu", body.len);
		evhttp_add_header(evhttp_request_get_output_headers(x->request),
				  "Content-Length", length);
		body = SPAN("");
	}
	evbuffer_add(out, body.data, body.len);
	evhttp_send_reply(end_exchange(x), (int)status, NULL, out);
	evbuffer_free(out);
}

void http_reply_json(struct http_exchange *x, unsigned status, struct span body)
{
	static const struct http_field fields[] = {
		{ "Content-Type", "application/json" },
	};

	http_reply(x, status, fields, ARRAY_LEN(fields), body);
}

/* HTTP/1.0 has none: such an answer ends with its connection. */
static bool has_chunks(const struct evhttp_request *request)
{
	return request->major > 1 || (request->major == 1 && request->minor);
}

/* Or evhttp would give it the length that it has so far, which is none. */
static void end_by_closing(struct evhttp_request *request)
{
	evhttp_remove_header(evhttp_request_get_input_headers(request),
			     "Connection");
	evhttp_add_header(evhttp_request_get_output_headers(request),
			  "Connection", "close");
}

/*
 * Write what the kernel takes of the output now; the rest, and any error, are
 * libevent's, which opens the buffer for its own writes in the same way.  It
 * need not ask whether more may be written when there is nothing more.
 */
static void write_now(struct http_exchange *x)
{
	struct evhttp_connection *connection =
		evhttp_request_get_connection(x->request);
	struct bufferevent *socket;
	struct evbuffer *out;

	if (!connection)
		return;
	socket = evhttp_connection_get_bufferevent(connection);
	out = bufferevent_get_output(socket);
	evbuffer_unfreeze(out, 1);
	evbuffer_write(out, bufferevent_getfd(socket));
	evbuffer_freeze(out, 1);
	if (evbuffer_get_length(out))
		return;
	bufferevent_disable(socket, EV_WRITE);
	if (x->on_drained)
		x->on_drained(x->drained_arg);
}

void http_reply_begin(struct http_exchange *x, unsigned status,
		      const struct http_field *fields, size_t count)
{
	add_fields(x, fields, count);
	if (!has_chunks(x->request))
		end_by_closing(x->request);
	evhttp_send_reply_start(x->request, (int)status, NULL);
	write_now(x);
}

static void on_output_empty(struct evhttp_connection *connection UNUSED,
			    void *arg)
{
	struct http_exchange *x = arg;

	if (x->on_drained)
		x->on_drained(x->drained_arg);
}

void http_reply_write(struct http_exchange *x, struct span bytes)
{
	struct evbuffer *out;

	if (x->gone || !bytes.len)
		return;
	out = evbuffer_new();
	evbuffer_add(out, bytes.data, bytes.len);
	evhttp_send_reply_chunk_with_cb(x->request, out, on_output_empty, x);
	evbuffer_free(out);
	write_now(x);
}

void http_reply_end(struct http_exchange *x)
{
	evhttp_send_reply_end(end_exchange(x));
}

/* Where the connection's end is the answer's, closing would end it well. */
static void reset(struct evhttp_connection *connection)
{
	const struct sockaddr nobody = { .sa_family = AF_UNSPEC };
	evutil_socket_t fd = bufferevent_getfd(
		evhttp_connection_get_bufferevent(connection));

	if (connect(fd, &nobody, sizeof(nobody)) < 0)
		log_warn("http", "an answer is not broken off: %s",
			 strerror(errno));
}

void http_reply_cut(struct http_exchange *x)
{
	struct evhttp_connection *connection =
		evhttp_request_get_connection(x->request);

	if (!connection) {
		http_reply_end(x);
		return;
	}
	if (!has_chunks(x->request) && !x->gone)
		reset(connection);
	http_connection_ended(x->connection);
	evhttp_connection_free(connection);
	exchange_free(x);
}
