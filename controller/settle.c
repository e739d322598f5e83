/* Killing, stopping, reading the logs: one step after the other. */
#include "controller/settle.h"

#include "shared/json_scan.h"
#include "shared/limits.h"
#include "shared/log.h"

void settle_init(struct settle *s, const struct out_dir *out)
{
	*s = (struct settle){ .out = out, .failure = ERROR_INIT };
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
	return s->agent &&
	       sandbox_read_file(s->sandbox, path, LIMIT_AGENT_LOG - 1, err);
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

static void keep_file(const char *path, struct span bytes)
{
	struct error err;

	if (!out_dir_write(path, bytes, &err))
		log_error("rollout", "%s", err.text);
}

static void keep_log(struct settle *s, struct span bytes)
{
	struct error err;

	if (!buf_add(&s->log, bytes, &err))
		note_failure(s, &err);
	keep_file(s->out->agent_log, bytes);
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
			keep_log(s, event->bytes);
		else
			keep_file(s->out->agent_stderr, event->bytes);
		return true;
	case SANDBOX_FAILED:
		/* An agent need not have left a readable log. */
		if (s->step == SETTLE_PURGE)
			note_failure(s, event->err);
		else if (event->err->kind != ERROR_ABSENT)
			log_warn("rollout", "%s", event->err->text);
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
