/*
 * The answer to a request, on evhttp.  What is written is written at once, not
 * when epoll has said it may.
 */
#include "shared/http_exchange.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "shared/log.h"

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
	http_exchange_free(x);
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
		http_exchange_free(x);
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
	http_exchange_free(x);
}
