#ifndef SHARED_HTTP_CALL_H
#define SHARED_HTTP_CALL_H

#include <curl/curl.h>
#include <event2/event.h>

#include "shared/buf.h"
#include "shared/ca_bundle.h"
#include "shared/http_client.h"

/*
 * The inside of http_client.h, for http_client.c (which drives libcurl on the
 * loop and ends calls) and http_call.c (one call: what it is made of, and what
 * libcurl tells of it).
 *
 * libcurl may not be entered again from inside one of its callbacks, so
 * anything that would do that (cancel, resume) only marks the call; the marks
 * are acted on when libcurl has returned.
 */
struct http_client {
	struct loop *loop;
	struct http_call *arrived; /* those with something in `body` */
	CURLM *multi;
	struct event *timer;
	struct loop_timer *sweep; /* acts on marks */
	struct http_call *calls;
	char *no_proxy;
	bool inside; /* libcurl is at work, and may not be entered */
	struct ca_bundle trusted; /* looked for by the first call */
	struct buf joined;        /* its file and its extra file, if any */
	bool trust_known;
};

struct http_call {
	struct http_client *client;
	struct http_call *next, **link; /* in client->calls */
	struct http_handler handler;
	void *arg;
	CURL *easy;
	struct curl_slist *headers;
	struct buf reply_headers;
	struct buf body; /* came, and not yet handed on */
	struct http_call *next_arrived;
	unsigned status;
	unsigned attempts;
	size_t body_len;
	uint64_t idle_timeout_ms;
	uint64_t last_byte_ms;
	struct loop_timer *idle_timer;
	struct error failure; /* found by us, before libcurl's own */
	char curl_error[CURL_ERROR_SIZE];
	bool head_done;
	bool left; /* nobody looks at what comes */
	bool paused, resume_wanted;
	bool failed;    /* end it with `failure` */
	bool cancelled; /* end it without a word */
};

/* Some call wants to be acted on: look at all of them soon. */
void http_client_mark(struct http_client *client);

/* What came of the body and was collected goes to the handler. */
void http_call_hand_on(struct http_call *call);

/* Also takes it away from libcurl.  Nobody is told. */
void http_call_free(struct http_call *call);

#endif
