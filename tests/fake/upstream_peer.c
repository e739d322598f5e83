/* One connection: reading requests, writing answers. */
#include "tests/fake/upstream_peer.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/clock.h"
#include "shared/file.h"
#include "shared/json_write.h"
#include "shared/limits.h"
#include "shared/mem.h"

#define MODELS                                                   \
	"{\"object\":\"list\",\"data\":[{\"id\":\"fake-model\"," \
	"\"object\":\"model\",\"created\":1,\"owned_by\":\"%s\"}]}"
#define NOT_FOUND \
	"{\"error\":{\"message\":\"nothing here\",\"type\":\"not_found\"}}"
#define WRONG_KEY \
	"{\"error\":{\"message\":\"wrong key: %.*s\",\"type\":\"auth\"}}"
#define MALFORMED \
	"{\"error\":{\"message\":\"malformed\",\"type\":\"malformed\"}}"

/* A request as spans of what was read. */
struct request {
	struct span head; /* with its empty line */
	struct span method, target;
	struct span authorization, user_agent;
	struct span body;
	bool has_length, has_host;
};

static void say(const char *event, uint64_t number, const char *const *members)
{
	struct json_writer jw;
	struct error err;
	struct buf line;

	if (!number) /* of a probe */
		return;
	buf_init(&line, LIMIT_HTTP_HEADERS);
	jw_init(&jw, &line);
	jw_object_begin(&jw);
	jw_key(&jw, "event");
	jw_cstring(&jw, event);
	jw_key(&jw, "number");
	jw_u64(&jw, number);
	for (; members && *members; members += 2) {
		jw_key(&jw, members[0]);
		jw_cstring(&jw, members[1]);
	}
	jw_object_end(&jw);
	if (jw_finish(&jw, &err) && puts(line.data) >= 0)
		fflush(stdout);
	buf_release(&line);
}

struct upstream_peer *upstream_peer_new(struct upstream_server *server, int fd)
{
	struct upstream_peer *p = xcalloc(1, sizeof(*p));

	p->server = server;
	p->fd = fd;
	buf_init(&p->in, LIMIT_HTTP_HEADERS + LIMIT_HTTP_BODY + 1);
	buf_init(&p->out, LIMIT_REPLY_BODY);
	if (server->settings->keep_alive_ms)
		p->due_ms =
			clock_monotonic_ms() + server->settings->keep_alive_ms;
	return p;
}

void upstream_peer_free(struct upstream_peer *p)
{
	if (p->answering)
		upstream_answer_release(&p->answer);
	close(p->fd);
	buf_release(&p->in);
	buf_release(&p->out);
	free(p);
}

/* --- Reading. ----------------------------------------------------------- */

static bool is_token(struct span text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (c <= ' ' || c >= 0x7F || strchr("\"(),/:;<=>?@[\\]{}", c))
			return false;
	}
	return text.len > 0;
}

/* Up to `end`, which is taken off with it; SPAN_NONE if there is none. */
static struct span take_until(struct span *rest, const char *end)
{
	const char *at = memmem(rest->data, rest->len, end, strlen(end));
	struct span part = SPAN_NONE;

	if (!at)
		return part;
	part = span_from(rest->data, (size_t)(at - rest->data));
	*rest = span_after(*rest, part.len + strlen(end));
	return part;
}

static const char *parse_request_line(struct span line, struct request *r)
{
	r->method = take_until(&line, " ");
	r->target = take_until(&line, " ");
	if (span_starts_with(r->target, "http://")) {
		/* As to an HTTP proxy: the server's name comes with it. */
		r->target = span_after(r->target, 7);
		take_until(&r->target, "/");
		r->target = span_from(r->target.data - 1, r->target.len + 1);
	}
	if (!is_token(r->method) || !span_starts_with(r->target, "/"))
		return "request line";
	return span_is(line, "HTTP/1.1") ? NULL : "version";
}

static const char *parse_field(struct span line, struct request *r)
{
	struct span name = take_until(&line, ":");
	uint64_t length;

	line = span_trim(line);
	if (!is_token(name))
		return "header name";
	if (memchr(line.data, '\r', line.len) ||
	    memchr(line.data, '\n', line.len) ||
	    memchr(line.data, '\0', line.len))
		return "header value";
	if (span_is_nocase(name, "transfer-encoding"))
		return "transfer-encoding";
	if (span_is_nocase(name, "host"))
		r->has_host = true;
	if (span_is_nocase(name, "authorization"))
		r->authorization = line;
	if (span_is_nocase(name, "user-agent"))
		r->user_agent = line;
	if (!span_is_nocase(name, "content-length"))
		return NULL;
	if (r->has_length || !span_to_u64(line, &length) ||
	    length > LIMIT_HTTP_BODY)
		return "content-length";
	r->has_length = true;
	r->body.len = (size_t)length;
	return NULL;
}

/* What is wrong with the head; NULL: nothing. */
static const char *parse_head(struct request *r)
{
	struct span rest = span_from(r->head.data, r->head.len - 2);
	const char *why = parse_request_line(take_until(&rest, "\r\n"), r);

	while (!why && rest.len)
		why = parse_field(take_until(&rest, "\r\n"), r);
	if (why)
		return why;
	if (!r->has_host)
		return "no host";
	return span_is(r->method, "POST") && !r->has_length ? "no length"
							    : NULL;
}

static void save_part(const struct upstream_peer *p, const char *suffix,
		      struct span part)
{
	const char *folder = p->server->settings->save_folder;
	struct error err;
	char *path;

	if (!folder)
		return;
	path = xasprintf("%s/%" PRIu64 ".%s", folder, p->number, suffix);
	if (!file_write_atomic(path, part, &err))
		fprintf(stderr, "upstream: %s\n", err.text);
	free(path);
}

/* --- Answering. --------------------------------------------------------- */

static bool key_is_right(const struct upstream_peer *p, const struct request *r)
{
	const char *key = p->server->settings->key;

	return !key || (span_starts_with(r->authorization, "Bearer ") &&
			span_is(span_after(r->authorization, 7), key));
}

/* As some servers do, with the key in it. */
static bool refuse_key(struct upstream_peer *p, const struct request *r,
		       struct error *err)
{
	char *json =
		xasprintf(WRONG_KEY, (int)r->authorization.len,
			  r->authorization.data ? r->authorization.data : "");
	bool ok = upstream_answer_json(&p->answer, 401, json, err);

	free(json);
	return ok;
}

static bool is_models(const struct request *r)
{
	return span_is(r->method, "GET") && span_is(r->target, "/v1/models");
}

/* What octap-proxy asks for itself is not one of the test's requests. */
static bool is_probe(const struct request *r)
{
	return span_ends_with(r->target, "/models") &&
	       span_starts_with(r->user_agent, "octap-proxy/");
}

static bool answer_models(struct upstream_peer *p, struct error *err)
{
	const struct upstream_settings *settings = p->server->settings;
	const char *owner = settings->owned_by;
	char *json;
	bool ok;

	if (settings->models)
		return upstream_answer_call(&p->answer, &settings->models_plan,
					    SPAN("{}"), err);
	json = xasprintf(MODELS, owner ? owner : "tests");
	ok = upstream_answer_json(&p->answer, 200, json, err);
	free(json);
	return ok;
}

static bool choose_answer(struct upstream_peer *p, const struct request *r,
			  struct error *err)
{
	const struct upstream_settings *settings = p->server->settings;

	if (!key_is_right(p, r))
		return refuse_key(p, r, err);
	if (span_is(r->method, "POST"))
		return upstream_answer_call(
			&p->answer,
			upstream_plan_for(settings, p->server->calls++),
			r->body, err);
	if (is_models(r))
		return answer_models(p, err);
	return upstream_answer_json(&p->answer, 404, NOT_FOUND, err);
}

static void note_request(struct upstream_peer *p, const struct request *r)
{
	char *method = xstrndup(r->method.data, r->method.len);
	char *target = xstrndup(r->target.data, r->target.len);
	const char *const members[] = { "method", method, "target", target,
					NULL };

	p->number = ++p->server->requests;
	save_part(p, "head", r->head);
	save_part(p, "body", r->body);
	say("request", p->number, members);
	free(method);
	free(target);
}

static bool begin_answer(struct upstream_peer *p, const struct request *r)
{
	struct error err;

	if (is_probe(r))
		p->number = 0;
	else
		note_request(p, r);
	if (!choose_answer(p, r, &err)) {
		fprintf(stderr, "upstream: %s\n", err.text);
		return false;
	}
	if (span_is(r->method, "HEAD"))
		p->answer.limit = 0;
	p->answering = true;
	p->due_ms = 0;
	if (p->answer.plan && p->answer.plan->first_delay_ms)
		p->due_ms =
			clock_monotonic_ms() + p->answer.plan->first_delay_ms;
	return true;
}

static bool refuse(struct upstream_peer *p, const char *why)
{
	const char *const members[] = { "why", why, NULL };
	struct error err;

	p->number = ++p->server->requests;
	say("malformed", p->number + 1, members);
	if (!upstream_answer_json(&p->answer, 400, MALFORMED, &err))
		return false;
	p->answer.ending = ENDING_CLOSE;
	p->answering = true;
	p->due_ms = 0;
	return true;
}

/* Take a request off what was read, if it is all there. */
static bool take_request(struct upstream_peer *p)
{
	struct span rest = buf_span(&p->in);
	struct request r = { .head = take_until(&rest, "\r\n\r\n") };
	const char *why;

	if (!r.head.data)
		return p->in.len < LIMIT_HTTP_HEADERS || refuse(p, "too long");
	r.head.len += 4;
	why = parse_head(&r);
	if (why)
		return refuse(p, why);
	if (rest.len < r.body.len)
		return true;
	r.body.data = rest.data;
	if (!begin_answer(p, &r))
		return false;
	buf_consume(&p->in, r.head.len + r.body.len);
	return true;
}

static bool end_answer(struct upstream_peer *p)
{
	const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	uint64_t keep_alive = p->server->settings->keep_alive_ms;

	if (p->answer.ending == ENDING_HANG) {
		p->hanging = true;
		return true;
	}
	say("answered", p->number, NULL);
	p->answering = false;
	upstream_answer_release(&p->answer);
	p->due_ms = keep_alive ? clock_monotonic_ms() + keep_alive : 0;
	if (p->answer.ending == ENDING_RESET)
		setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	return p->answer.ending == ENDING_KEEP;
}

/* The next piece into the empty `out`; pieces are a delay apart. */
static bool go_on(struct upstream_peer *p)
{
	bool was_head = !p->answer.head_sent;
	struct error err;

	p->due_ms = 0;
	if (!upstream_answer_next(&p->answer, &p->out, &err)) {
		fprintf(stderr, "upstream: %s\n", err.text);
		return false;
	}
	if (!p->out.len)
		return end_answer(p);
	if (p->answer.plan && p->answer.plan->delay_ms && !was_head)
		p->due_ms = clock_monotonic_ms() + p->answer.plan->delay_ms;
	return true;
}

static bool write_some(struct upstream_peer *p)
{
	ssize_t put = send(p->fd, p->out.data, p->out.len, MSG_NOSIGNAL);

	if (put < 0)
		return errno == EAGAIN || errno == EINTR;
	buf_consume(&p->out, (size_t)put);
	return true;
}

static bool read_some(struct upstream_peer *p)
{
	char bytes[65536];
	ssize_t got = recv(p->fd, bytes, sizeof(bytes), 0);
	struct error err;

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	if (!p->answering)
		p->due_ms = 0; /* no longer idle */
	return got && buf_add(&p->in, span_from(bytes, (size_t)got), &err);
}

static bool is_due(const struct upstream_peer *p)
{
	return p->due_ms <= clock_monotonic_ms();
}

short upstream_peer_wants(const struct upstream_peer *p)
{
	return p->out.len ? POLLIN | POLLOUT : POLLIN;
}

bool upstream_peer_step(struct upstream_peer *p, short ready)
{
	if (ready && !read_some(p)) {
		if (p->answering)
			say("peer_gone", p->number, NULL);
		else if (p->in.len)
			refuse(p, "broken off");
		return false;
	}
	if (!p->answering && p->in.len && !take_request(p))
		return false;
	if (!p->answering)
		return p->in.len || !p->due_ms || !is_due(p);
	while (!p->hanging && p->answering && (p->out.len || is_due(p))) {
		if (!p->out.len && !go_on(p))
			return false;
		if (p->out.len && !write_some(p)) {
			say("peer_gone", p->number, NULL);
			return false;
		}
		if (p->out.len)
			break;
	}
	return p->answering || !p->in.len || upstream_peer_step(p, 0);
}
