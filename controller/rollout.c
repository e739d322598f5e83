/*
 * The state machine of a rollout.  Sandbox events come in at
 * on_sandbox_event() and go to whatever the current state runs; every failure
 * passes rollout_fail().
 */
#include "controller/rollout_states.h"

#include <stdlib.h>
#include <string.h>

#include "controller/launch.h"
#include "shared/clock.h"
#include "shared/limits.h"
#include "shared/log.h"
#include "shared/loop.h"
#include "shared/mem.h"

static const struct {
	const char *name;
	uint64_t deadline_ms; /* 0: none, or a time of its own */
} states[] = {
	[ROLLOUT_QUEUED] = { "queued", 0 },
	[ROLLOUT_CREATING] = { "creating", 60000 },
	[ROLLOUT_PROBING] = { "probing", 30000 },
	[ROLLOUT_STAGING] = { "staging", 60000 },
	[ROLLOUT_SETUP] = { "setup", 0 },
	[ROLLOUT_ARMING] = { "arming", 10000 },
	[ROLLOUT_RUNNING] = { "running", 0 },
	[ROLLOUT_SETTLING] = { "settling", 60000 },
	[ROLLOUT_VERIFYING] = { "verifying", 0 },
	[ROLLOUT_COLLECTING] = { "collecting", 60000 },
	[ROLLOUT_CLOSING] = { "closing", 30000 },
	[ROLLOUT_DONE] = { "done", 0 },
};

const char *rollout_id(const struct rollout *r)
{
	return r->id;
}

const char *rollout_state_name(enum rollout_state state)
{
	return states[state].name;
}

/* The next state on the way out. */
static enum rollout_state way_out(const struct rollout *r)
{
	if (r->state == ROLLOUT_CREATING)
		return ROLLOUT_CLOSING;
	if (r->state < ROLLOUT_SETTLING)
		return ROLLOUT_SETTLING;
	return r->state < ROLLOUT_COLLECTING ? ROLLOUT_COLLECTING
					     : ROLLOUT_CLOSING;
}

void rollout_set_outcome(struct rollout *r, enum rollout_outcome outcome,
			 const struct error *err)
{
	if (r->result.outcome != ROLLOUT_OUTCOME_NONE)
		return;
	r->result.outcome = outcome;
	if (err)
		r->error = *err;
}

void rollout_fail(struct rollout *r, const struct error *err)
{
	if (r->state >= ROLLOUT_CLOSING)
		return;
	/* The agent's end was judged, then we failed: that is what counts. */
	if (r->result.outcome != ROLLOUT_FAILED &&
	    r->result.outcome != ROLLOUT_CANCELLED)
		r->result.outcome = ROLLOUT_OUTCOME_NONE;
	rollout_set_outcome(r,
			    err->kind == ERROR_CANCELLED ? ROLLOUT_CANCELLED
							 : ROLLOUT_FAILED,
			    err);
	/* What was scored of a rollout that then failed does not count. */
	r->result.has_reward = false;
	rollout_enter(r, way_out(r));
}

void rollout_cancel(struct rollout *r)
{
	struct error err;

	if (r->state > ROLLOUT_VERIFYING)
		return; /* it has its outcome and is on the way out */
	error_set(&err, ERROR_CANCELLED, "cancelled while %s",
		  rollout_state_name(r->state));
	r->result.outcome = ROLLOUT_OUTCOME_NONE;
	if (r->state == ROLLOUT_SETTLING)
		rollout_set_outcome(r, ROLLOUT_CANCELLED, &err);
	else
		rollout_fail(r, &err);
}

static void on_deadline(void *arg)
{
	struct rollout *r = arg;
	struct error err;

	if (r->state == ROLLOUT_RUNNING) {
		r->agent_timed_out = true;
		rollout_enter(r, ROLLOUT_SETTLING);
		return;
	}
	error_set(&err, ERROR_TIMEOUT, "%s took longer than %llu s",
		  rollout_state_name(r->state),
		  (unsigned long long)states[r->state].deadline_ms / 1000);
	if (r->state < ROLLOUT_COLLECTING) {
		rollout_fail(r, &err);
	} else if (r->state == ROLLOUT_COLLECTING) {
		log_warn("rollout", "%s: %s", r->id, err.text);
		rollout_enter(r, ROLLOUT_CLOSING);
	} else {
		log_error("rollout", "%s: its sandbox may be left behind",
			  r->id);
		r->sandbox = NULL;
		rollout_enter(r, ROLLOUT_DONE);
	}
}

static void on_job_exit(struct rollout *r, const struct sandbox_event *event)
{
	struct error err;

	if (event->job != r->job)
		return;
	r->job = NULL;
	if (r->state == ROLLOUT_PROBING) {
		if (event->exit_code == 0) {
			rollout_enter(r, ROLLOUT_STAGING);
			return;
		}
		error_set(&err, ERROR_SYSTEM,
			  "first command in the sandbox: exit %d",
			  event->exit_code);
		rollout_fail(r, &err);
	} else if (r->state == ROLLOUT_RUNNING) {
		r->agent_ended = true;
		r->result.has_agent_exit_code = true;
		r->result.agent_exit_code = event->exit_code;
		rollout_enter(r, ROLLOUT_SETTLING);
	}
}

static const char *when_proxy_ended(const struct rollout *r)
{
	if (r->state == ROLLOUT_ARMING)
		return "at its start";
	/* The agent often ends of it, and may be seen to end first. */
	if (r->state == ROLLOUT_RUNNING || r->settle.step < SETTLE_PROXY)
		return "while the agent ran";
	return "without all records written";
}

static void on_proxy_exit(struct rollout *r, const struct sandbox_event *event)
{
	struct error err;

	settle_note_proxy_exit(&r->settle, event);
	if (r->state == ROLLOUT_SETTLING && event->exit_code == 0)
		return;
	error_set(&err, ERROR_SYSTEM,
		  "octap-proxy ended %s (exit %d): see proxy.log",
		  when_proxy_ended(r), event->exit_code);
	if (r->state == ROLLOUT_SETTLING)
		rollout_set_outcome(r, ROLLOUT_FAILED, &err);
	else
		rollout_fail(r, &err);
}

static void on_sandbox_gone(struct rollout *r)
{
	struct error err;

	r->sandbox = NULL;
	if (r->state == ROLLOUT_CLOSING) {
		rollout_enter(r, ROLLOUT_DONE);
		return;
	}
	error_set(&err, ERROR_UNAVAILABLE, "the sandbox is gone");
	rollout_fail(r, &err);
}

static void on_ready_or_failed(struct rollout *r,
			       const struct sandbox_event *event)
{
	if (event->type == SANDBOX_READY)
		rollout_enter(r, ROLLOUT_PROBING);
	else if (event->type == SANDBOX_FAILED)
		rollout_fail(r, event->err);
}

/* To whatever the state runs. */
static void dispatch(struct rollout *r, const struct sandbox_event *event)
{
	switch (r->state) {
	case ROLLOUT_CREATING:
		on_ready_or_failed(r, event);
		break;
	case ROLLOUT_STAGING:
		stage_on_event(&r->stage, event);
		break;
	case ROLLOUT_SETUP:
		commands_on_event(&r->setup, event);
		break;
	case ROLLOUT_ARMING:
		if (event->type == SANDBOX_PROXY_READY) {
			r->proxy_port = event->port;
			rollout_enter(r, ROLLOUT_RUNNING);
		}
		break;
	case ROLLOUT_SETTLING:
		settle_on_event(&r->settle, event);
		break;
	case ROLLOUT_VERIFYING:
		verify_on_event(&r->verify, event);
		break;
	case ROLLOUT_COLLECTING:
		collect_on_event(&r->collect, event);
		break;
	default:
		break;
	}
}

void rollout_on_event(struct sandbox *sandbox UNUSED,
		      const struct sandbox_event *event, void *arg)
{
	struct rollout *r = arg;

	if (event->type == SANDBOX_GONE) {
		on_sandbox_gone(r);
		return;
	}
	if (event->type == SANDBOX_PROXY_EXIT)
		on_proxy_exit(r, event);
	if (event->type == SANDBOX_JOB_EXIT && r->job)
		on_job_exit(r, event);
	else
		dispatch(r, event);
}

static void end_phase(struct rollout *r)
{
	uint64_t now = clock_monotonic_ms();

	if (r->state != ROLLOUT_QUEUED)
		r->phases[r->phase_count++] = (struct phase_time){
			.name = states[r->state].name,
			.ms = now - r->state_started_ms,
		};
	r->state_started_ms = now;
	commands_stop(&r->setup);
	commands_stop(&r->verify.commands);
}

void rollout_enter(struct rollout *r, enum rollout_state state)
{
	end_phase(r);
	r->state = state;
	loop_timer_stop(r->deadline);
	if (states[state].deadline_ms)
		loop_timer_start(r->deadline, states[state].deadline_ms);
	if (r->handler.on_state)
		r->handler.on_state(r, state, r->arg);
	rollout_begin_state(r, state);
}

static void init_result(struct rollout *r)
{
	const struct rollout_spec *spec = &r->spec;

	r->result = (struct result){
		.rollout_id = r->id,
		.task_id = spec->task->id,
		.sandbox_id = r->id,
		.mode = spec->mode == ROLLOUT_BLACK_BOX ? "black_box"
							: "transparent_proxy",
		.backend = spec->backend->name,
		.agent = spec->agent->name,
		.endpoint = spec->endpoint->kind,
		.model = spec->endpoint->model,
		.setup = &r->setup,
		.verify = &r->verify.commands,
		.trace = &r->trace,
		.collect = &r->collect,
		.key_protected = spec->mode != ROLLOUT_BLACK_BOX,
		.metadata = spec->task->metadata,
		.log_fault = &r->settle.log_fault,
		.error = &r->error,
	};
}

struct rollout *rollout_new(const struct rollout_spec *spec,
			    const struct rollout_handler *handler, void *arg,
			    struct error *err)
{
	struct rollout *r = xcalloc(1, sizeof(*r));

	r->spec = *spec;
	r->handler = *handler;
	r->arg = arg;
	r->client_key = launch_client_key(err);
	if (!r->client_key) {
		free(r);
		return NULL;
	}
	r->id = r->spec.id;
	r->deadline = loop_timer_new(spec->host->loop, on_deadline, r);
	stage_init(&r->stage);
	commands_init(&r->setup);
	settle_init(&r->settle, spec->out);
	verify_init(&r->verify);
	collect_init(&r->collect);
	buf_init(&r->proxy_log, LIMIT_AGENT_LOG);
	init_result(r);
	return r;
}

void rollout_start(struct rollout *r)
{
	r->started_ms = clock_monotonic_ms();
	rollout_enter(r, ROLLOUT_CREATING);
}

void rollout_free(struct rollout *r)
{
	if (!r)
		return;
	loop_timer_free(r->deadline);
	stage_release(&r->stage);
	commands_release(&r->setup);
	settle_release(&r->settle);
	verify_release(&r->verify);
	collect_release(&r->collect);
	agent_plan_release(&r->plan);
	launch_free_options(r->proxy_options);
	trace_summary_release(&r->trace);
	buf_release(&r->proxy_log);
	mem_wipe(r->client_key, strlen(r->client_key));
	free(r->client_key);
	free(r->agent_env);
	free(r);
}
