/* Killing, stopping, reading the logs: one step after the other. */
#include "controller/settle.h"

#include <string.h>

#include "shared/json_scan.h"
#include "shared/limits.h"
#include "shared/log.h"

#define CUT_LINE_SPACE 128 /* more than {"type":"octap.cut"...} takes */

void settle_init(struct settle *s, const struct out_dir *out)
{
	*s = (struct settle){
		.out = out,
		.log_fault = ERROR_INIT,
		.failure = ERROR_INIT,
	};
	buf_init(&s->log, LIMIT_AGENT_LOG);
}

void settle_release(struct settle *s)
{
	buf_release(&s->log);
}

static void note_failure(struct settle *s, const struct error *err)
{
	if (s->failure.kind == ERROR_NONE)
		s->failure = *err;
}

static bool read_log(struct settle *s, const char *path, struct error *err)
{
	return sandbox_read_ends(s->sandbox, path,
				 LIMIT_AGENT_LOG - CUT_LINE_SPACE, err);
}

/* Begin a step; false: there is nothing to wait for. */
static bool begin_step(struct settle *s)
{
	struct error err = ERROR_INIT;
	bool waiting = false;

	switch (s->step) {
	case SETTLE_PURGE:
		waiting = sandbox_purge(s->sandbox, &err);
		break;
	case SETTLE_PROXY:
		waiting = s->proxy_running;
		if (waiting)
			sandbox_stop_proxy(s->sandbox);
		break;
	case SETTLE_LOG:
		waiting = s->agent && read_log(s, s->agent->log_path, &err);
		break;
	case SETTLE_STDERR:
		waiting = s->agent && read_log(s, s->agent->stderr_path, &err);
		break;
	case SETTLE_DONE:
		break;
	}
	if (err.kind != ERROR_NONE)
		note_failure(s, &err);
	return waiting;
}

static void go_on(struct settle *s)
{
	while (s->step != SETTLE_DONE) {
		/* what was under way before must end first */
		if (s->sandbox->busy)
			return;
		s->waiting = begin_step(s);
		if (s->waiting)
			return;
		s->step++;
	}
	s->on_done(s->failure.kind == ERROR_NONE ? NULL : &s->failure, s->arg);
}

static void note_log_fault(struct settle *s, const struct error *err)
{
	if (s->log_fault.kind == ERROR_NONE)
		s->log_fault = *err;
	log_warn("rollout", "%s", err->text);
}

static bool put_together(const struct sandbox_event *event, struct buf *log,
			 struct error *err)
{
	size_t half = event->skipped ? event->bytes.len / 2 : 0;

	return buf_add(log, span_from(event->bytes.data, half), err) &&
	       (!event->skipped ||
		buf_addf(log, err,
			 "\n{\"type\":\"octap.cut\",\"bytes\":%llu}\n",
			 (unsigned long long)event->skipped)) &&
	       buf_add(log, span_after(event->bytes, half), err);
}

/* A log that is lost makes the rollout worthless, be it scored or not. */
static void keep_log(struct settle *s, const struct sandbox_event *event,
		     const char *path, struct buf *log)
{
	const char *slash = strrchr(path, '/');
	struct error err;

	if (event->skipped) {
		error_set(&err, ERROR_TOO_LARGE,
			  "%s was too long: %llu bytes of its middle are "
			  "left out",
			  slash ? slash + 1 : path,
			  (unsigned long long)event->skipped);
		note_log_fault(s, &err);
	}
	if (!put_together(event, log, &err) ||
	    !out_dir_write(path, buf_span(log), &err))
		note_failure(s, &err);
}

static void keep_stderr(struct settle *s, const struct sandbox_event *event)
{
	struct buf text;

	buf_init(&text, LIMIT_AGENT_LOG);
	keep_log(s, event, s->out->agent_stderr, &text);
	buf_release(&text);
}

/* Did this event end the step under way? */
static bool ends_step(struct settle *s, const struct sandbox_event *event)
{
	switch (event->type) {
	case SANDBOX_PURGED:
		return s->step == SETTLE_PURGE;
	case SANDBOX_PROXY_EXIT:
		return s->step == SETTLE_PROXY;
	case SANDBOX_CONTENT:
		if (s->step == SETTLE_LOG)
			keep_log(s, event, s->out->agent_log, &s->log);
		else
			keep_stderr(s, event);
		return true;
	case SANDBOX_FAILED:
		/* An agent need not have left a readable log. */
		if (s->step == SETTLE_PURGE)
			note_failure(s, event->err);
		else
			note_log_fault(s, event->err);
		return true;
	default:
		return false;
	}
}

void settle_begin(struct settle *s, struct sandbox *sandbox,
		  const struct agent_spec *agent, settle_done_fn *on_done,
		  void *arg)
{
	s->sandbox = sandbox;
	s->agent = agent;
	s->on_done = on_done;
	s->arg = arg;
	s->step = SETTLE_PURGE;
	go_on(s);
}

/* {"event":"stopped",...,"max_turns_reached":true} */
void settle_note_proxy_exit(struct settle *s, const struct sandbox_event *event)
{
	struct json_value reached;

	s->proxy_running = false;
	if (json_find(event->bytes, "max_turns_reached", &reached))
		s->max_turns_reached = reached.type == JSON_TRUE;
}

void settle_on_event(struct settle *s, const struct sandbox_event *event)
{
	if (s->waiting) {
		if (!ends_step(s, event))
			return;
		s->waiting = false;
		s->step++;
	}
	go_on(s);
}
