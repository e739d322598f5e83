/*
 * How the bytes are seen before evhttp sees them: the connection's bufferevent
 * is made here, with a callback on its input that runs when bytes were added,
 * just before evhttp's own.  It only looks.  To refuse, it takes the
 * bufferevent's callbacks away from evhttp, which is asked to free everything
 * in the end.
 *
 * evhttp makes its part of a connection after it has asked for the bufferevent
 * and tells nobody; it is found as the argument of the bufferevent's callbacks
 * (adopt()) before the first byte can come.
 */
#include "shared/http_connection.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "shared/buf.h"
#include "shared/limits.h"
#include "shared/log.h"
#include "shared/loop.h"
#include "shared/mem.h"
#include "shared/request_framing.h"

/* How long a refused peer may take to notice. */
#define LINGER_MS 2000

#define LIBEVENT_READ 4096         /* what evbuffer_read() takes at most */
#define READ_MORE     (120u << 10) /* 128 KB with what libevent adds */

#define REFUSAL_LENGTH 1000 /* bytes */

struct http_connection {
	struct http_connections *all;
	struct http_connection *next, **link;
	struct bufferevent *bev; /* one reference is ours until adoption */
	struct evhttp_connection *evcon; /* NULL before adoption */
	struct event *adoption;
	struct loop_timer *deadline;
	struct request_framing framing;
	uint64_t handed_out; /* requests */
	uint64_t held;       /* bytes of requests not yet answered */
	bool refused;

	/* The request being answered; NULL: none is. */
	struct evhttp_request *request;
	http_closed_fn *on_closed;
	void *closed_arg;
};

static void connection_free(struct http_connection *c)
{
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	c->all->held -= c->held;
	if (--c->all->count < LIMIT_HTTP_CONNECTIONS / 2)
		c->all->full = false;
	event_free(c->adoption);
	loop_timer_free(c->deadline);
	free(c);
}

static void on_close(struct evhttp_connection *evcon UNUSED, void *arg)
{
	struct http_connection *c = arg;

	if (c->request)
		c->on_closed(c->closed_arg);
	connection_free(c);
}

static void start_deadline(struct http_connection *c)
{
	loop_timer_start(c->deadline, c->all->patience_ms);
}

/* --- Refusing. ---------------------------------------------------------- */

/* Also called by what evhttp has still scheduled, with its own argument. */
static void on_discard(struct bufferevent *bev, void *arg UNUSED)
{
	struct evbuffer *input = bufferevent_get_input(bev);

	evbuffer_drain(input, evbuffer_get_length(input));
}

static void on_refusal_sent(struct bufferevent *bev, void *arg UNUSED)
{
	shutdown(bufferevent_getfd(bev), SHUT_WR);
}

static void on_refusal_over(struct bufferevent *bev UNUSED, short what UNUSED,
			    void *arg)
{
	const struct http_connection *c = arg;

	evhttp_connection_free(c->evcon);
}

static const char *phrase_of(unsigned status)
{
	switch (status) {
	case 408:
		return "Request Timeout";
	case 413:
		return "Content Too Large";
	case 417:
		return "Expectation Failed";
	case 431:
		return "Request Header Fields Too Large";
	case 501:
		return "Not Implemented";
	case 503:
		return "Service Unavailable";
	default:
		return "Bad Request";
	}
}

static void write_refusal(struct http_connection *c, unsigned status,
			  const char *why)
{
	struct buf body, reply;
	struct error err;

	buf_init(&body, REFUSAL_LENGTH);
	buf_init(&reply, REFUSAL_LENGTH);
	if (buf_addf(&body, &err,
		     "{\"error\":{\"message\":\"The request is refused: "
		     "%s.\",\"type\":\"invalid_request_error\","
		     "\"param\":null,\"code\":null}}",
		     why) &&
	    buf_addf(&reply, &err,
		     "HTTP/1.1 %u %s\r\nContent-Type: application/json\r\n"
		     "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
		     status, phrase_of(status), body.len, body.data))
		bufferevent_write(c->bev, reply.data, reply.len);
	buf_release(&body);
	buf_release(&reply);
}

static void refuse(struct http_connection *c, unsigned status, const char *why)
{
	log_warn("http", "refused with %u: %s", status, why);
	c->refused = true;
	if (c->request) {
		struct evkeyvalq *fields =
			evhttp_request_get_input_headers(c->request);

		/* As if the peer had asked for it. */
		evhttp_remove_header(fields, "Connection");
		evhttp_add_header(fields, "Connection", "close");
		return;
	}
	bufferevent_setcb(c->bev, on_discard, on_refusal_sent, on_refusal_over,
			  c);
	write_refusal(c, status, why);
	bufferevent_enable(c->bev, EV_READ | EV_WRITE);
	loop_timer_start(c->deadline, LINGER_MS);
}

static void on_deadline(void *arg)
{
	struct http_connection *c = arg;

	if (c->refused || !request_framing_in_request(&c->framing))
		evhttp_connection_free(c->evcon);
	else
		refuse(c, 408, "it did not arrive in time");
}

/* --- Beginning. --------------------------------------------------------- */

static void adopt(struct http_connection *c)
{
	bufferevent_event_cb is_alive;
	void *evcon;

	bufferevent_getcb(c->bev, NULL, NULL, &is_alive, &evcon);
	bufferevent_decref(c->bev);
	if (!is_alive) {
		connection_free(c);
		return;
	}
	c->evcon = evcon;
	evhttp_connection_set_closecb(c->evcon, on_close, c);
	if (c->all->count <= LIMIT_HTTP_CONNECTIONS) {
		start_deadline(c);
		return;
	}
	if (!c->all->full)
		log_warn("http",
			 "more than %d connections: closing those "
			 "that come",
			 LIMIT_HTTP_CONNECTIONS);
	c->all->full = true;
	evhttp_connection_free(c->evcon);
}

static void on_adoption(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	adopt(arg);
}

/* The bytes behind the first `skip` ones. */
static bool look_at(struct http_connection *c, struct evbuffer *input,
		    size_t skip, struct error *err)
{
	struct evbuffer_iovec part;
	struct evbuffer_ptr at;

	for (evbuffer_ptr_set(input, &at, skip, EVBUFFER_PTR_SET);
	     evbuffer_peek(input, -1, &at, &part, 1) > 0 && part.iov_len;
	     evbuffer_ptr_set(input, &at, part.iov_len, EVBUFFER_PTR_ADD))
		if (!request_framing_feed(
			    &c->framing, span_from(part.iov_base, part.iov_len),
			    err))
			return false;
	return true;
}

/*
 * libevent reads 4096 bytes at a time, whatever there is.  When they are of a
 * body that goes on, more of it is taken at once.
 */
static void read_more(struct http_connection *c, struct evbuffer *input)
{
	uint64_t left = request_framing_body_left(&c->framing);
	struct evbuffer_iovec space;
	ssize_t len;

	if (!left || evbuffer_reserve_space(input, READ_MORE, &space, 1) != 1)
		return;
	if (space.iov_len > left)
		space.iov_len = (size_t)left;
	len = recv(bufferevent_getfd(c->bev), space.iov_base, space.iov_len,
		   MSG_DONTWAIT);
	/* What is wrong, the next read will tell. */
	space.iov_len = len > 0 ? (size_t)len : 0;
	evbuffer_commit_space(input, &space, 1);
}

static void on_input(struct evbuffer *input,
		     const struct evbuffer_cb_info *info, void *arg)
{
	struct http_connection *c = arg;
	size_t len = evbuffer_get_length(input), skipped;
	bool began = !request_framing_in_request(&c->framing);
	struct error err;

	if (!info->n_added || c->refused)
		return;
	c->held += info->n_added;
	c->all->held += info->n_added;
	/* To find the end of a long buffer takes long. */
	skipped = request_framing_skip(&c->framing, info->n_added);
	if (skipped < info->n_added &&
	    !look_at(c, input, len - info->n_added + skipped, &err))
		refuse(c, c->framing.fault, err.text);
	else if (c->all->held > LIMIT_HTTP_HELD)
		refuse(c, 503, "too much is under way");
	else if (began && !c->request)
		start_deadline(c);
	if (!c->refused && info->n_added == LIBEVENT_READ)
		read_more(c, input);
}

struct bufferevent *http_connection_new(struct event_base *base,
					void *connections)
{
	struct http_connections *all = connections;
	struct bufferevent *bev = bufferevent_socket_new(base, -1, 0);
	struct http_connection *c;

	if (!bev)
		return NULL;
	c = xcalloc(1, sizeof(*c));
	c->all = all;
	c->bev = bev;
	c->next = all->first;
	c->link = &all->first;
	if (c->next)
		c->next->link = &c->next;
	all->first = c;
	all->count++;
	request_framing_init(&c->framing);
	c->deadline = loop_timer_new(all->loop, on_deadline, c);
	c->adoption = event_new(base, -1, 0, on_adoption, c);
	evbuffer_add_cb(bufferevent_get_input(bev), on_input, c);
	/* Comes before anything that the network has for us. */
	bufferevent_incref(bev);
	event_active(c->adoption, EV_TIMEOUT, 0);
	return bev;
}

void http_connections_release(struct http_connections *all)
{
	while (all->first) {
		bufferevent_decref(all->first->bev);
		connection_free(all->first);
	}
}

/* --- Requests. ---------------------------------------------------------- */

void http_connections_cut(struct http_connections *all)
{
	for (struct http_connection *c = all->first, *next; c; c = next) {
		next = c->next;
		if (c->evcon)
			evhttp_connection_free(c->evcon);
	}
}

static struct http_connection *find(const struct http_connections *all,
				    const struct evhttp_connection *evcon)
{
	struct http_connection *c = all->first;

	while (c && c->evcon != evcon)
		c = c->next;
	return c;
}

struct http_connection *http_connection_began(struct http_connections *all,
					      struct evhttp_request *request,
					      http_closed_fn *on_closed,
					      void *arg)
{
	struct http_connection *c =
		find(all, evhttp_request_get_connection(request));

	/* It must not have found more requests than there are. */
	if (!c || c->refused || ++c->handed_out > c->framing.requests)
		return NULL;
	c->request = request;
	c->on_closed = on_closed;
	c->closed_arg = arg;
	loop_timer_stop(c->deadline);
	bufferevent_setwatermark(c->bev, EV_READ, 0, LIMIT_HTTP_AHEAD);
	return c;
}

void http_connection_ended(struct http_connection *c)
{
	c->request = NULL;
	c->all->held -= c->held;
	c->held = 0;
	bufferevent_setwatermark(c->bev, EV_READ, 0, 0);
	start_deadline(c);
}
