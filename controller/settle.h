#ifndef CONTROLLER_SETTLE_H
#define CONTROLLER_SETTLE_H

#include "controller/agent/agent.h"
#include "controller/out_dir.h"
#include "controller/sandbox/sandbox.h"
#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"

/*
 * What comes after an agent, however it ended: every process inside is killed,
 * the proxy is asked to end (which completes the trace), the agent's logs are
 * copied out.  A log that is too long is kept without its middle, with a line
 *
 *	{"type":"octap.cut","bytes":N}
 *
 * in its place; one that the agent made unreadable is not kept.
 */
enum settle_step {
	SETTLE_PURGE,
	SETTLE_PROXY,
	SETTLE_LOG,
	SETTLE_STDERR,
	SETTLE_DONE,
};

/* `err` NULL unless the sandbox or the disk failed; what could be had is
 * there. */
typedef void settle_done_fn(const struct error *err, void *arg);

struct settle {
	struct sandbox *sandbox;
	const struct agent_spec *agent; /* NULL: it was never started */
	const struct out_dir *out;      /* where the logs go */
	settle_done_fn *on_done;
	void *arg;
	enum settle_step step;
	bool waiting;           /* for the event of the step */
	bool proxy_running;     /* set by who started it */
	bool max_turns_reached; /* the proxy said so at its end */
	struct buf log;         /* the agent's, as it was kept */
	struct error log_fault; /* why a log is not whole; kind NONE: it is */
	struct error failure;
};

void settle_init(struct settle *settle, const struct out_dir *out);

/* The proxy ended, now or before settling began. */
void settle_note_proxy_exit(struct settle *settle,
			    const struct sandbox_event *event);

/* `agent` NULL: there are no logs to copy. */
void settle_begin(struct settle *settle, struct sandbox *sandbox,
		  const struct agent_spec *agent, settle_done_fn *on_done,
		  void *arg);

/* Hand on each other event of the sandbox until it is done. */
void settle_on_event(struct settle *settle, const struct sandbox_event *event);

void settle_release(struct settle *settle);

#endif
