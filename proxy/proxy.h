#ifndef PROXY_PROXY_H
#define PROXY_PROXY_H

#include <stdint.h>

#include "proxy/config.h"
#include "proxy/lineage.h"
#include "proxy/probe.h"
#include "proxy/recorder.h"
#include "proxy/reply.h"
#include "proxy/upstream.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/http_server.h"
#include "shared/loop.h"

/*
 * The proxy: one process, one loop, no state but the trace.
 *
 *	proxy_start()	opens the trace, listens
 *	proxy_announce() prints one JSON line on stdout:
 *			{"event":"listening","host":...,"port":...,...}
 *	loop_run()	until SIGTERM or SIGINT; calls under way then have
 *			some time to end, a second signal ends them at once
 *	proxy_stop()	closes the trace and, if it was announced, prints the
 *			line "stopped"
 */
struct exchange;
struct passthrough;

struct proxy {
	const struct config *config;
	struct loop *loop;
	struct http_client *client;
	struct http_server *server;
	struct recorder *recorder;
	struct upstream upstream;
	struct probe probe;
	struct refusals refusals;
	struct lineages lineages;
	struct exchange *exchanges; /* under way */
	struct passthrough *passthroughs;
	struct loop_timer *drain_timer;
	struct loop_timer *idle_timer;
	uint64_t drain_deadline_ms;
	uint64_t last_turn;        /* the number given last */
	uint64_t turns;            /* recorded by this process */
	uint64_t delivered;        /* complete answers that the agent got */
	uint64_t total_tokens;     /* of their prompts and completions */
	uint64_t in_flight;        /* model calls under way */
	uint64_t without_logprobs; /* complete answers, though asked for */
	uint64_t unrecorded;       /* turns that could not be made a record */
	bool turns_refused; /* a call came after the last of --max-turns */
	bool draining;
	bool announced;
};

bool proxy_start(struct proxy *proxy, const struct config *config,
		 struct error *err) MUST_USE;

bool proxy_announce(struct proxy *proxy, struct error *err) MUST_USE;

/* False: a record is missing in the trace; the error says why. */
bool proxy_stop(struct proxy *proxy, struct error *err);

/* Something ended: is the drain complete, or nothing under way any more? */
void proxy_on_ended(struct proxy *proxy);

/* Answer with one of our own errors. */
void proxy_reply_error(struct http_exchange *http, enum reply_error which);

#endif
