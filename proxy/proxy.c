/* Start, routes, health, drain. */
#include "proxy/proxy.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "proxy/exchange.h"
#include "proxy/passthrough.h"
#include "proxy/request_path.h"
#include "shared/clock.h"
#include "shared/file.h"
#include "shared/http_client.h"
#include "shared/http_json.h"
#include "shared/json_write.h"
#include "shared/limits.h"
#include "shared/log.h"
#include "shared/mem.h"
#include "shared/turn.h"
#include "shared/version.h"

/* How often a drain looks whether the last bytes have left. */
#define DRAIN_POLL_MS 20

/* How long nothing is under way before memory is given back. */
#define IDLE_MS 1000

void proxy_reply_error(struct http_exchange *http, enum reply_error which)
{
	struct error err;
	struct buf body;

	buf_init(&body, LIMIT_REPLY_ERROR);
	if (!reply_error_body(which, &body, &err))
		buf_clear(&body);
	http_reply_json(http, reply_error_status(which), buf_span(&body));
	buf_release(&body);
}

static bool is_authorized(const struct proxy *proxy,
			  const struct http_exchange *http)
{
	const char *key = proxy->config->client_key;
	const char *given = http_exchange_header(http, "authorization");

	if (!key)
		return true;
	if (given && !strncasecmp(given, "Bearer ", 7))
		return secret_equals(given + 7, key);
	given = http_exchange_header(http, "x-api-key");
	return given && secret_equals(given, key);
}

/* As told or found out; NULL: not known. */
static const char *dialect_name(const struct proxy *proxy)
{
	const struct dialect *dialect = proxy->config->rules.dialect;

	if (!dialect)
		dialect = proxy->probe.dialect;
	return dialect ? dialect->name : NULL;
}

static void write_counters(const struct proxy *proxy, struct json_writer *jw)
{
	const struct {
		const char *name;
		uint64_t value;
	} counters[] = {
		{ "turns", proxy->turns },
		{ "delivered", proxy->delivered },
		{ "in_flight", proxy->in_flight },
		{ "without_logprobs", proxy->without_logprobs },
		{ "trace_errors",
		  recorder_errors(proxy->recorder) + proxy->unrecorded },
	};

	for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
		jw_key(jw, counters[i].name);
		jw_u64(jw, counters[i].value);
	}
	jw_key(jw, "max_turns_reached");
	jw_bool(jw, proxy->turns_refused);
	jw_key(jw, "dialect");
	jw_cstring(jw, dialect_name(proxy));
}

static void reply_health(const struct proxy *proxy, struct http_exchange *http)
{
	struct http_json answer;
	struct json_writer *jw = &answer.jw;

	http_json_begin(&answer);
	jw_object_begin(jw);
	jw_key(jw, "status");
	jw_cstring(jw, "ok");
	if (is_authorized(proxy, http)) {
		jw_key(jw, "version");
		jw_cstring(jw, OCTAP_VERSION);
		write_counters(proxy, jw);
	}
	jw_object_end(jw);
	http_json_send(&answer, http, 200);
}

/* The agent used up its calls: an answer that makes it stop. */
static void reply_final(struct proxy *proxy, struct http_exchange *http)
{
	const struct http_field fields[] = {
		{ "Content-Type", "text/event-stream" },
		{ "X-Octap-Synthetic", "max-turns" },
	};
	const struct http_field whole_fields[] = {
		{ "Content-Type", "application/json" },
		{ "X-Octap-Synthetic", "max-turns" },
	};
	struct span asked = http_exchange_body(http);
	bool stream = rewrite_is_stream(asked);
	struct error err;
	struct buf body;

	proxy->turns_refused = true;
	buf_init(&body, LIMIT_REPLY_ERROR);
	if (!reply_final_answer(stream, rewrite_wants_usage(asked), &body,
				&err))
		log_error("octap-proxy", "final answer: %s", err.text);
	http_reply(http, 200, stream ? fields : whole_fields, ARRAY_LEN(fields),
		   buf_span(&body));
	buf_release(&body);
}

/* Calls under way count too, or parallel ones would exceed the limit. */
static bool turns_used_up(const struct proxy *proxy)
{
	uint64_t turns = proxy->config->max_turns;
	uint64_t tokens = proxy->config->max_total_tokens;

	return (turns && proxy->delivered + proxy->in_flight >= turns) ||
	       (tokens && proxy->total_tokens >= tokens);
}

/* Calls that are not recorded are of no use to those who train on them. */
static bool trace_is_broken(const struct proxy *proxy)
{
	return !proxy->config->go_on_untraced &&
	       recorder_errors(proxy->recorder) + proxy->unrecorded;
}

static void on_request(struct http_exchange *http, void *arg)
{
	struct proxy *proxy = arg;
	struct span path = http_exchange_path(http);
	const char *method = http_exchange_method(http);

	if (span_is(path, "/healthz"))
		reply_health(proxy, http);
	else if (!is_authorized(proxy, http))
		proxy_reply_error(http, REPLY_UNAUTHORIZED);
	else if (request_path_climbs(path))
		proxy_reply_error(http, REPLY_NOT_FOUND);
	else if (!request_path_is_chat(path) || strcmp(method, "POST") != 0)
		passthrough_begin(proxy, http,
				  span_starts_with(path, "/v1/")
					  ? span_after(path, 3)
					  : path);
	else if (proxy->draining)
		proxy_reply_error(http, REPLY_STOPPING);
	else if (trace_is_broken(proxy))
		proxy_reply_error(http, REPLY_NOT_RECORDED);
	else if (turns_used_up(proxy))
		reply_final(proxy, http);
	else
		exchange_begin(proxy, http);
}

static void abort_all(struct proxy *proxy)
{
	exchange_abort_all(proxy, "the proxy was stopped");
	passthrough_abort_all(proxy);
}

static void check_drained(struct proxy *proxy)
{
	if (!http_server_active(proxy->server) && !proxy->in_flight) {
		loop_stop(proxy->loop);
		return;
	}
	if (clock_monotonic_ms() >= proxy->drain_deadline_ms) {
		abort_all(proxy);
		/* What is left are answers that nobody reads. */
		if (!proxy->in_flight)
			http_server_cut_all(proxy->server);
	}
	loop_timer_start(proxy->drain_timer, DRAIN_POLL_MS);
}

static void on_drain_timer(void *arg)
{
	check_drained(arg);
}

/* What freed blocks kept for the next call goes back to the kernel. */
static void on_idle_timer(void *arg)
{
	const struct proxy *proxy = arg;

	if (!proxy->in_flight)
		malloc_trim(0);
}

void proxy_on_ended(struct proxy *proxy)
{
	if (proxy->draining)
		check_drained(proxy);
	else if (!proxy->in_flight)
		loop_timer_start(proxy->idle_timer, IDLE_MS);
}

static void on_stop_signal(int number UNUSED, void *arg)
{
	struct proxy *proxy = arg;

	if (proxy->draining)
		proxy->drain_deadline_ms = 0;
	else
		proxy->drain_deadline_ms =
			clock_monotonic_ms() + proxy->config->drain_timeout_ms;
	proxy->draining = true;
	http_server_stop_listening(proxy->server);
	check_drained(proxy);
}

/* One line of JSON for whoever started us. */
static bool print_line(const struct proxy *proxy, bool stopped,
		       struct error *err)
{
	struct json_writer jw;
	struct buf line;
	bool ok;

	buf_init(&line, LIMIT_REPLY_ERROR);
	jw_init(&jw, &line);
	jw_object_begin(&jw);
	jw_key(&jw, "event");
	jw_cstring(&jw, stopped ? "stopped" : "listening");
	if (stopped) {
		write_counters(proxy, &jw);
	} else {
		jw_key(&jw, "host");
		jw_cstring(&jw, proxy->config->host);
		jw_key(&jw, "port");
		jw_u64(&jw, http_server_port(proxy->server));
		jw_key(&jw, "version");
		jw_cstring(&jw, OCTAP_VERSION);
		jw_key(&jw, "schema");
		jw_cstring(&jw, TURN_SCHEMA);
	}
	jw_object_end(&jw);
	ok = jw_finish(&jw, err) && buf_add(&line, SPAN("\n"), err);
	if (ok && !file_write_fd(STDOUT_FILENO, buf_span(&line)) && !stopped)
		ok = error_set_errno(err, errno, "stdout");
	buf_release(&line);
	return ok;
}

/* Who can reach the port can use the upstream's key. */
static void warn_of_host(const struct proxy *proxy)
{
	const struct config *config = proxy->config;

	if (http_server_is_loopback(proxy->server))
		return;
	log_warn("octap-proxy",
		 "--host %s: other machines can reach this port%s",
		 config->host,
		 config->client_key ? ""
				    : " and use the upstream's key: give a "
				      "--client-key-file");
}

bool proxy_start(struct proxy *proxy, const struct config *config,
		 struct error *err)
{
	*proxy = (struct proxy){ .config = config };
	lineages_init(&proxy->lineages);
	proxy->loop = loop_new(err);
	if (!proxy->loop)
		return false;
	proxy->drain_timer = loop_timer_new(proxy->loop, on_drain_timer, proxy);
	proxy->idle_timer = loop_timer_new(proxy->loop, on_idle_timer, proxy);
	proxy->client = http_client_new(proxy->loop, err);
	if (!proxy->client ||
	    !upstream_init(&proxy->upstream, config->upstream_url,
			   config->upstream_key, config->request_timeout_ms,
			   proxy->client, err))
		return false;
	probe_init(&proxy->probe, &proxy->upstream);
	proxy->recorder = recorder_open(proxy->loop, config->trace_path, err);
	if (!proxy->recorder)
		return error_wrap(err, "trace");
	proxy->last_turn = recorder_last_turn(proxy->recorder);
	proxy->server = http_server_new(proxy->loop, config->host, config->port,
					on_request, proxy, err);
	if (!proxy->server)
		return false;
	http_server_set_patience(proxy->server, config->client_timeout_ms);
	warn_of_host(proxy);
	return loop_on_signal(proxy->loop, SIGTERM, on_stop_signal, proxy,
			      err) &&
	       loop_on_signal(proxy->loop, SIGINT, on_stop_signal, proxy, err);
}

bool proxy_announce(struct proxy *proxy, struct error *err)
{
	proxy->announced = print_line(proxy, false, err);
	if (!proxy->config->rules.dialect)
		probe_start(&proxy->probe);
	return proxy->announced;
}

bool proxy_stop(struct proxy *proxy, struct error *err)
{
	bool ok = true;

	if (proxy->announced)
		print_line(proxy, true, err);
	http_server_free(proxy->server);
	probe_release(&proxy->probe);
	http_client_free(proxy->client);
	upstream_release(&proxy->upstream);
	refusals_release(&proxy->refusals);
	lineages_release(&proxy->lineages);
	if (proxy->recorder)
		ok = recorder_close(proxy->recorder, err);
	if (proxy->unrecorded)
		ok = error_set(err, ERROR_TOO_LARGE,
			       "turns without a record: %llu",
			       (unsigned long long)proxy->unrecorded);
	loop_timer_free(proxy->drain_timer);
	loop_timer_free(proxy->idle_timer);
	loop_free(proxy->loop);
	return ok;
}
