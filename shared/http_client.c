/*
 * libcurl's multi interface on the loop, after its documentation of
 * curl_multi_socket_action().
 *
 * libcurl hands over each chunk of the chunked coding, so a server's every
 * event, by itself.  What one read brought is put together and handed on once.
 */
#include "shared/http_call.h"

#include <stdlib.h>
#include <string.h>

#include "shared/clock.h"
#include "shared/limits.h"
#include "shared/loop.h"
#include "shared/mem.h"

#define CONNECTIONS_KEPT 1024L

/* One open socket of libcurl's. */
struct socket_watch {
	struct event *event;
};

/* The one way by which a call ends and says so. */
static void call_finish(struct http_call *call, const struct error *err)
{
	if (!call->left)
		call->handler.on_done(call, err, call->arg);
	http_call_free(call);
}

static enum error_kind kind_of(CURLcode code)
{
	switch (code) {
	case CURLE_OPERATION_TIMEDOUT:
		return ERROR_TIMEOUT;
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_PARTIAL_FILE:
	case CURLE_HTTP2:
		return ERROR_UNAVAILABLE;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
		return ERROR_REFUSED;
	case CURLE_WEIRD_SERVER_REPLY:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return ERROR_MALFORMED;
	default:
		return ERROR_SYSTEM;
	}
}

/* What libcurl says, and for a certificate, what it was checked against. */
static void describe(const struct http_call *call, CURLcode code,
		     struct error *err)
{
	const struct ca_bundle *trusted = &call->client->trusted;
	const char *file = trusted->file ? trusted->file : "no file";

	error_set(err, kind_of(code), "%s",
		  call->curl_error[0] ? call->curl_error
				      : curl_easy_strerror(code));
	if (code == CURLE_PEER_FAILED_VERIFICATION)
		error_wrap(err, "trusting %s%s%s", file,
			   trusted->extra ? " and " : "",
			   trusted->extra ? trusted->extra : "");
}

static void collect_finished(struct http_client *client)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(client->multi, &left))) {
		struct http_call *call;
		struct error err = ERROR_INIT;
		CURLcode code = message->data.result;

		if (message->msg != CURLMSG_DONE)
			continue;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE,
				  &call);
		if (call->cancelled) {
			http_call_free(call);
		} else if (call->failed) {
			call_finish(call, &call->failure);
		} else if (code == CURLE_OK && call->head_done) {
			call_finish(call, NULL);
		} else if (code == CURLE_OK) {
			/* libcurl takes a head that is cut for an answer. */
			error_set(&err, ERROR_UNAVAILABLE,
				  "closed within the answer's head");
			call_finish(call, &err);
		} else {
			describe(call, code, &err);
			call_finish(call, &err);
		}
	}
}

static void hand_on_arrived(struct http_client *client)
{
	while (client->arrived)
		http_call_hand_on(client->arrived);
}

static bool act_on_mark(struct http_call *call)
{
	if (call->cancelled) {
		http_call_free(call);
	} else if (call->failed) {
		call_finish(call, &call->failure);
	} else if (call->resume_wanted) {
		call->resume_wanted = call->paused = false;
		call->last_byte_ms = clock_monotonic_ms();
		curl_easy_pause(call->easy, CURLPAUSE_CONT);
	} else {
		return false;
	}
	return true;
}

static void run_marks(struct http_client *client)
{
	struct http_call *call = client->calls;

	/* A callback may change the list: after each action start again. */
	while (call)
		call = act_on_mark(call) ? client->calls : call->next;
	hand_on_arrived(client);
	collect_finished(client);
}

static void on_sweep(void *arg)
{
	run_marks(arg);
}

void http_client_mark(struct http_client *client)
{
	loop_timer_start(client->sweep, 0);
}

static void enter_curl(struct http_client *client, curl_socket_t socket,
		       int events)
{
	int running;

	client->inside = true;
	curl_multi_socket_action(client->multi, socket, events, &running);
	client->inside = false;
	hand_on_arrived(client);
	collect_finished(client);
	run_marks(client);
}

static void on_timer(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	enter_curl(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void on_socket_ready(evutil_socket_t fd, short what, void *arg)
{
	int events = 0;

	if (what & EV_READ)
		events |= CURL_CSELECT_IN;
	if (what & EV_WRITE)
		events |= CURL_CSELECT_OUT;
	enter_curl(arg, fd, events);
}

static int set_timer(CURLM *multi UNUSED, long timeout_ms, void *arg)
{
	struct http_client *client = arg;
	struct timeval delay = {
		.tv_sec = timeout_ms / 1000,
		.tv_usec = timeout_ms % 1000 * 1000,
	};

	if (timeout_ms < 0)
		evtimer_del(client->timer);
	else
		evtimer_add(client->timer, &delay);
	return 0;
}

static int set_socket(CURL *easy UNUSED, curl_socket_t fd, int what, void *arg,
		      void *per_socket)
{
	struct http_client *client = arg;
	struct socket_watch *watch = per_socket;
	short events = EV_PERSIST;

	if (watch)
		event_free(watch->event);
	if (what == CURL_POLL_REMOVE) {
		free(watch);
		curl_multi_assign(client->multi, fd, NULL);
		return 0;
	}
	if (!watch) {
		watch = xcalloc(1, sizeof(*watch));
		curl_multi_assign(client->multi, fd, watch);
	}
	if (what & CURL_POLL_IN)
		events |= EV_READ;
	if (what & CURL_POLL_OUT)
		events |= EV_WRITE;
	watch->event = event_new(loop_base(client->loop), fd, events,
				 on_socket_ready, client);
	event_add(watch->event, NULL);
	return 0;
}

/* The environment's own list, and loopback in any case. */
static char *no_proxy_list(void)
{
	const char *list = getenv("no_proxy");

	if (!list)
		list = getenv("NO_PROXY");
	return xasprintf("%s%slocalhost,127.0.0.1,::1", list ? list : "",
			 list && *list ? "," : "");
}

struct http_client *http_client_new(struct loop *loop, struct error *err)
{
	struct http_client *client;
	CURLM *multi;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK ||
	    !(multi = curl_multi_init())) {
		error_set(err, ERROR_SYSTEM, "cannot start libcurl");
		return NULL;
	}
	client = xcalloc(1, sizeof(*client));
	client->loop = loop;
	client->multi = multi;
	client->no_proxy = no_proxy_list();
	buf_init(&client->joined, LIMIT_CA_BUNDLE);
	client->timer = evtimer_new(loop_base(loop), on_timer, client);
	client->sweep = loop_timer_new(loop, on_sweep, client);
	curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, set_socket);
	curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, client);
	curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer);
	curl_multi_setopt(multi, CURLMOPT_TIMERDATA, client);
	curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, CONNECTIONS_KEPT);
	curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
	return client;
}

void http_client_free(struct http_client *client)
{
	if (!client)
		return;
	while (client->calls)
		http_call_free(client->calls);
	curl_multi_cleanup(client->multi);
	event_free(client->timer);
	loop_timer_free(client->sweep);
	free(client->no_proxy);
	buf_release(&client->joined);
	free(client);
	curl_global_cleanup();
}
