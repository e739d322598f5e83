/* One call: its request as libcurl options, its reply as libcurl tells it. */
#include "shared/http_call.h"

#include <stdlib.h>
#include <string.h>

#include "shared/clock.h"
#include "shared/file.h"
#include "shared/limits.h"
#include "shared/loop.h"
#include "shared/mem.h"

#define CONNECTION_MAX_AGE_S 4L
#define RECEIVE_BUFFER       (64L << 10)
#define LEFT_CALL_MS         1000
#define ATTEMPTS_MAX         2

static void forget_arrived(struct http_call *call)
{
	struct http_call **link = &call->client->arrived;

	if (!call->body.len)
		return;
	while (*link != call)
		link = &(*link)->next_arrived;
	*link = call->next_arrived;
	buf_clear(&call->body);
}

void http_call_free(struct http_call *call)
{
	forget_arrived(call);
	*call->link = call->next;
	if (call->next)
		call->next->link = call->link;
	curl_multi_remove_handle(call->client->multi, call->easy);
	curl_easy_cleanup(call->easy);
	curl_slist_free_all(call->headers);
	loop_timer_free(call->idle_timer);
	buf_release(&call->reply_headers);
	buf_release(&call->body);
	free(call);
}

/* The call may be cancelled by its handler, but not freed. */
void http_call_hand_on(struct http_call *call)
{
	if (call->body.len && !call->cancelled && !call->failed && !call->left)
		call->handler.on_body(call, buf_span(&call->body), call->arg);
	forget_arrived(call);
}

static bool fail_call(struct http_call *call, enum error_kind kind,
		      const char *text)
{
	call->failed = true;
	return error_set(&call->failure, kind, "%s", text);
}

static size_t on_header(char *data, size_t size, size_t count, void *arg)
{
	struct http_call *call = arg;
	struct span line = span_from(data, size * count);
	struct error err;
	long status = 0;

	call->last_byte_ms = clock_monotonic_ms();
	if (call->head_done || call->cancelled)
		return line.len; /* trailers are of no use to anybody */
	if (span_starts_with(line, "HTTP/")) {
		buf_clear(&call->reply_headers);
		return line.len;
	}
	/* For libcurl the head ends with what begins like an empty line. */
	if (line.data[0] != '\r' && line.data[0] != '\n') {
		if (buf_add(&call->reply_headers, line, &err))
			return line.len;
		fail_call(call, ERROR_TOO_LARGE, "reply headers too long");
		return 0;
	}
	curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status >= 100 && status < 200 && status != 101)
		return line.len;
	if (status < 200) {
		/* Or what follows would be handed on as a body. */
		fail_call(call, ERROR_MALFORMED,
			  status == 101 ? "the server switches to a protocol "
					  "nobody asked for"
					: "an answer without a status");
		return 0;
	}
	call->head_done = true;
	call->status = (unsigned)status;
	call->handler.on_head(call, call->status, call->arg);
	return call->cancelled ? 0 : line.len;
}

static size_t on_body(char *data, size_t size, size_t count, void *arg)
{
	struct http_call *call = arg;
	struct http_client *client = call->client;
	struct error err;

	if (call->cancelled || call->failed)
		return 0;
	if (call->left)
		return size * count;
	if (!call->head_done) {
		fail_call(call, ERROR_MALFORMED, "a body without a head");
		return 0;
	}
	call->last_byte_ms = clock_monotonic_ms();
	/* It goes on reading as long as the server is fast enough. */
	if (call->body.len + size * count > RECEIVE_BUFFER)
		http_call_hand_on(call);
	if (call->cancelled || !buf_reserve(&call->body, size * count, &err))
		return 0;
	if (!call->body.len) {
		call->next_arrived = client->arrived;
		client->arrived = call;
	}
	return buf_add(&call->body, span_from(data, size * count), &err)
		       ? size * count
		       : 0;
}

static int on_sending(void *arg, char *remote UNUSED, char *local UNUSED,
		      int remote_port UNUSED, int local_port UNUSED)
{
	struct http_call *call = arg;

	/* libcurl itself would go on to the fifth stale connection. */
	if (call->attempts == ATTEMPTS_MAX) {
		fail_call(call, ERROR_UNAVAILABLE,
			  "connections closed before an answer");
		return CURL_PREREQFUNC_ABORT;
	}
	call->attempts++;
	return CURL_PREREQFUNC_OK;
}

static void on_idle_check(void *arg)
{
	struct http_call *call = arg;
	uint64_t idle_ms = clock_monotonic_ms() - call->last_byte_ms;

	if (call->paused)
		idle_ms = 0;
	if (idle_ms < call->idle_timeout_ms) {
		loop_timer_start(call->idle_timer,
				 call->idle_timeout_ms - idle_ms);
		return;
	}
	fail_call(call, ERROR_TIMEOUT, "no byte came for too long");
	http_client_mark(call->client);
}

static void set_headers(struct http_call *call, const char *const *headers)
{
	/* Without "Expect:" a body over 1 MiB waits for a 100 Continue. */
	call->headers = curl_slist_append(NULL, "Expect:");
	for (; headers && *headers; headers++)
		call->headers = curl_slist_append(call->headers, *headers);
	curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
}

static void set_request(struct http_call *call,
			const struct http_request *request)
{
	CURL *easy = call->easy;

	curl_easy_setopt(easy, CURLOPT_URL, request->url);
	if (!strcmp(request->method, "HEAD"))
		curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
	else if (request->body.len || !strcmp(request->method, "POST")) {
		curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
				 (curl_off_t)request->body.len);
		curl_easy_setopt(easy, CURLOPT_POSTFIELDS,
				 request->body.len ? request->body.data : "");
	}
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
			 (long)request->connect_timeout_ms);
	set_headers(call, request->headers);
}

static void set_behaviour(struct http_call *call)
{
	CURL *easy = call->easy;

	curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->curl_error);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, call);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, call);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_sending);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, call);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
	curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(easy, CURLOPT_MAXAGE_CONN, CONNECTION_MAX_AGE_S);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, RECEIVE_BUFFER);
	curl_easy_setopt(easy, CURLOPT_NOPROXY, call->client->no_proxy);
}

/* Not before the first call: by then root may have become somebody else. */
static bool find_trusted(struct http_client *client, struct error *err)
{
	struct ca_bundle *trusted = &client->trusted;

	if (client->trust_known)
		return true;
	*trusted = ca_bundle_find(getenv, file_is_readable);
	if (trusted->extra) {
		buf_clear(&client->joined);
		if (!file_read(trusted->file, &client->joined, err) ||
		    !buf_add(&client->joined, span_of("\n"), err) ||
		    !file_read(trusted->extra, &client->joined, err))
			return error_wrap(err, "certificate authorities");
	}
	client->trust_known = true;
	return true;
}

/*
 * libcurl keeps what it parsed of a file for the next connection, which saves
 * 20 ms each, but only if that file is all: hence no folder, not even the one
 * it has by default, unless asked for.
 */
static void set_trust(struct http_call *call)
{
	const struct ca_bundle *trusted = &call->client->trusted;
	CURL *easy = call->easy;

	if (trusted->extra) {
		struct span bytes = buf_span(&call->client->joined);
		struct curl_blob blob = {
			.data = (void *)(uintptr_t)bytes.data,
			.len = bytes.len,
			.flags = CURL_BLOB_NOCOPY,
		};

		curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
		curl_easy_setopt(easy, CURLOPT_PROXY_CAINFO_BLOB, &blob);
	}
	if (trusted->file) {
		curl_easy_setopt(easy, CURLOPT_CAINFO, trusted->file);
		curl_easy_setopt(easy, CURLOPT_PROXY_CAINFO, trusted->file);
	}
	if (trusted->file || trusted->dir) {
		curl_easy_setopt(easy, CURLOPT_CAPATH, trusted->dir);
		curl_easy_setopt(easy, CURLOPT_PROXY_CAPATH, trusted->dir);
	}
}

struct http_call *http_call_start(struct http_client *client,
				  const struct http_request *request,
				  const struct http_handler *handler, void *arg,
				  struct error *err)
{
	CURL *easy;
	struct http_call *call;

	if (!find_trusted(client, err))
		return NULL;
	easy = curl_easy_init();
	if (!easy) {
		error_set(err, ERROR_SYSTEM, "cannot start a request");
		return NULL;
	}
	call = xcalloc(1, sizeof(*call));
	call->client = client;
	call->handler = *handler;
	call->arg = arg;
	call->easy = easy;
	call->idle_timeout_ms = request->idle_timeout_ms;
	call->last_byte_ms = clock_monotonic_ms();
	buf_init(&call->reply_headers, LIMIT_REPLY_HEADERS);
	buf_init(&call->body, 2 * RECEIVE_BUFFER + 1);
	call->next = client->calls;
	call->link = &client->calls;
	if (call->next)
		call->next->link = &call->next;
	client->calls = call;
	call->body_len = request->body.len;
	set_behaviour(call);
	set_trust(call);
	set_request(call, request);
	call->idle_timer = loop_timer_new(client->loop, on_idle_check, call);
	if (call->idle_timeout_ms)
		loop_timer_start(call->idle_timer, call->idle_timeout_ms);
	if (curl_multi_add_handle(client->multi, easy) != CURLM_OK) {
		error_set(err, ERROR_SYSTEM, "cannot start a request");
		http_call_free(call);
		return NULL;
	}
	return call;
}

void http_call_cancel(struct http_call *call)
{
	call->cancelled = true;
	/* The body is the caller's, who may free it now. */
	if (!call->client->inside)
		curl_multi_remove_handle(call->client->multi, call->easy);
	http_client_mark(call->client);
}

void http_call_leave(struct http_call *call)
{
	curl_off_t sent = 0;

	/* The rest of the body is the caller's, who may free it. */
	curl_easy_getinfo(call->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
	if (call->paused || (size_t)sent < call->body_len) {
		http_call_cancel(call);
		return;
	}
	call->left = true;
	call->last_byte_ms = clock_monotonic_ms();
	call->idle_timeout_ms = LEFT_CALL_MS;
	loop_timer_start(call->idle_timer, LEFT_CALL_MS);
}

void http_call_pause(struct http_call *call)
{
	if (call->paused)
		return;
	call->paused = true;
	curl_easy_pause(call->easy, CURLPAUSE_RECV);
}

void http_call_resume(struct http_call *call)
{
	if (!call->paused)
		return;
	call->resume_wanted = true;
	http_client_mark(call->client);
}

struct span http_call_headers(const struct http_call *call)
{
	return buf_span(&call->reply_headers);
}

bool http_header_next(struct span *lines, struct span *name, struct span *value)
{
	while (lines->len) {
		const char *end = memchr(lines->data, '\n', lines->len);
		size_t len = end ? (size_t)(end + 1 - lines->data) : lines->len;
		struct span line = span_from(lines->data, len);
		const char *colon = memchr(line.data, ':', line.len);

		*lines = span_after(*lines, len);
		if (!colon)
			continue;
		*name = span_trim(
			span_from(line.data, (size_t)(colon - line.data)));
		*value = span_trim(
			span_after(line, (size_t)(colon + 1 - line.data)));
		return true;
	}
	return false;
}

unsigned http_call_attempts(const struct http_call *call)
{
	return call->attempts;
}
