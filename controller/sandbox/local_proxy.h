#ifndef CONTROLLER_SANDBOX_LOCAL_PROXY_H
#define CONTROLLER_SANDBOX_LOCAL_PROXY_H

#include <sys/types.h>

#include "controller/sandbox/sandbox.h"
#include "shared/compiler.h"
#include "shared/error.h"

/*
 * octap-proxy as a process of this host, outside of what the agent can see.
 * The keys reach it in unlinked files that only it has open.
 */
struct local_proxy;

struct local_proxy_handler {
	/* It listens on this port of 127.0.0.1. */
	void (*on_ready)(unsigned port, void *arg);

	/* It ended; `last_line` is what it said last on stdout.  The last
	 * callback. */
	void (*on_exit)(int exit_code, struct span last_line, void *arg);
};

/* `uid`: to become once it has what it needs; (uid_t)-1: stay. */
struct local_proxy *local_proxy_start(const struct sandbox_host *host,
				      const struct proxy_spec *spec, uid_t uid,
				      const struct local_proxy_handler *handler,
				      void *arg, struct error *err);

/* SIGTERM now, SIGKILL if it is still there after 10 s. */
void local_proxy_stop(struct local_proxy *proxy);

/* Kills it if it runs; no callback comes.  NULL is fine. */
void local_proxy_free(struct local_proxy *proxy);

#endif
