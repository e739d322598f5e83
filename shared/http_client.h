#ifndef SHARED_HTTP_CLIENT_H
#define SHARED_HTTP_CLIENT_H

#include <stdint.h>

#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * Outgoing HTTP/1.1: one curl multi handle driven by the loop.
 *
 * A call reports through its callbacks in this order, all from the loop and
 * none from inside http_call_start() or http_call_resume():
 *
 *	head  (at most once)  ->  body (any number)  ->  done (exactly once)
 *
 * The call is freed when `done` returns.  http_call_cancel() may be made from
 * any callback or from outside; after it no further callback comes, `done`
 * included.
 *
 * Proxies named in the environment are used as libcurl uses them, never for
 * loopback.  Nothing is decompressed and no redirect is followed.  Who may have
 * signed a server's certificate is looked up by shared/ca_bundle.h.
 *
 * libcurl sends a request again, by itself, when a kept-alive connection turns
 * out to be closed before the first byte of an answer.  Idle connections are
 * dropped after 4 s (vLLM closes them after 5), so that this stays rare; it
 * happens at most once in a call, and http_call_attempts() counts it.
 */
struct http_client;
struct http_call;
struct loop;

struct http_request {
	const char *method;
	const char *url;
	const char *const *headers; /* "Name: value", NULL-terminated */
	struct span body;           /* borrowed until done or cancel */
	uint64_t connect_timeout_ms;
	uint64_t idle_timeout_ms; /* no byte for this long; 0: never */
};

struct http_handler {
	void (*on_head)(struct http_call *call, unsigned status, void *arg);
	void (*on_body)(struct http_call *call, struct span bytes, void *arg);

	/* err NULL: the reply is complete.  ERROR_TIMEOUT: nothing came for
	 * too long.  ERROR_UNAVAILABLE: no connection, or one that broke.
	 * ERROR_REFUSED: TLS. */
	void (*on_done)(struct http_call *call, const struct error *err,
			void *arg);
};

struct http_client *http_client_new(struct loop *loop, struct error *err);
void http_client_free(struct http_client *client); /* cancels what runs */

struct http_call *http_call_start(struct http_client *client,
				  const struct http_request *request,
				  const struct http_handler *handler, void *arg,
				  struct error *err);
void http_call_cancel(struct http_call *call);

/*
 * To be made instead when only the reply's formal end is outstanding: no
 * further callback comes, but for a second it is waited for, so that the
 * connection can be used again.
 */
void http_call_leave(struct http_call *call);

/* Back-pressure: a paused call delivers no body until resumed. */
void http_call_pause(struct http_call *call);
void http_call_resume(struct http_call *call);

/* The reply's header lines, each ended by CR LF; from on_head on. */
struct span http_call_headers(const struct http_call *call);

/* Take the next "Name: value" off `lines`; false at their end. */
bool http_header_next(struct span *lines, struct span *name,
		      struct span *value);

/* How often the request was sent; 0: no connection was made. */
unsigned http_call_attempts(const struct http_call *call);

#endif
