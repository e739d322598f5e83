#ifndef CONTROLLER_ROLLOUT_STATES_H
#define CONTROLLER_ROLLOUT_STATES_H

#include "controller/collect.h"
#include "controller/commands.h"
#include "controller/rollout.h"
#include "controller/settle.h"
#include "controller/stage.h"
#include "controller/trace_summary.h"
#include "controller/verify.h"

/*
 * The inside of a rollout, for rollout.c (which changes its state and takes
 * events in) and rollout_states.c (which does the work of each state).
 */
struct rollout {
	struct rollout_spec spec;
	struct rollout_handler handler;
	void *arg;
	const char *id;
	char *client_key;
	enum rollout_state state;
	struct loop_timer *deadline;
	uint64_t started_ms, state_started_ms;
	struct phase_time phases[ROLLOUT_DONE + 1];
	size_t phase_count;

	struct sandbox *sandbox; /* NULL before and after */
	struct job *job;         /* the probe, then the agent */
	char **proxy_options;
	unsigned proxy_port;
	const char **agent_env;
	struct agent_plan plan;
	struct stage stage;
	struct commands setup;
	struct settle settle;
	struct verify verify;
	struct collect collect;

	struct result result;
	struct trace_summary trace;
	struct buf proxy_log;
	struct error error;
	bool agent_started, agent_ended, agent_timed_out;
	bool verify_wanted;
};

/* The only way to another state; does that state's entry work. */
void rollout_enter(struct rollout *r, enum rollout_state state);

/* The one door for everything that goes wrong. */
void rollout_fail(struct rollout *r, const struct error *err);

/* Set once; later ones do not count, unless rollout_fail() says so. */
void rollout_set_outcome(struct rollout *r, enum rollout_outcome outcome,
			 const struct error *err);

void rollout_on_event(struct sandbox *sandbox,
		      const struct sandbox_event *event, void *arg);

/* The entry work of a state. */
void rollout_begin_state(struct rollout *r, enum rollout_state state);

#endif
