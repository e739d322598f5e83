#ifndef CONTROLLER_ROLLOUT_H
#define CONTROLLER_ROLLOUT_H

#include <stdint.h>

#include "controller/agent/agent.h"
#include "controller/endpoint.h"
#include "controller/judge.h"
#include "controller/out_dir.h"
#include "controller/result.h"
#include "controller/sandbox/sandbox.h"
#include "controller/task.h"
#include "shared/compiler.h"
#include "shared/error.h"

/*
 * One attempt at one task: a sandbox, an agent in it, a result.
 *
 * The states run top to bottom.  A failure or a cancel in any state after
 * ROLLOUT_CREATING goes to SETTLING, so that nothing runs on and the trace is
 * complete, then to COLLECTING, so that what can still be read is read, then to
 * CLOSING, so that no sandbox is left behind.  rollout_enter() in rollout.c is
 * the only place that assigns `state`.
 */
enum rollout_state {
	ROLLOUT_QUEUED,     /* not started */
	ROLLOUT_CREATING,   /* the backend's sandbox; 60 s */
	ROLLOUT_PROBING,    /* `true` to run in it; 30 s */
	ROLLOUT_STAGING,    /* files written; 60 s */
	ROLLOUT_SETUP,      /* the setup commands, in order; each its time */
	ROLLOUT_ARMING,     /* the proxy to listen; 10 s */
	ROLLOUT_RUNNING,    /* the agent to end; the task's time */
	ROLLOUT_SETTLING,   /* all processes dead, the trace whole; 60 s */
	ROLLOUT_VERIFYING,  /* the verify commands; each its time */
	ROLLOUT_COLLECTING, /* files copied out; 60 s */
	ROLLOUT_CLOSING,    /* the sandbox to be gone; 30 s */
	ROLLOUT_DONE,       /* result written; freed by its owner */
};

enum rollout_mode {
	ROLLOUT_TRANSPARENT_PROXY, /* every model call through octap-proxy */
	ROLLOUT_BLACK_BOX,         /* the agent talks to the model itself */
};

/* Borrowed until the rollout is done. */
struct rollout_spec {
	const char *id; /* from id_new() */
	const struct task *task;
	const struct endpoint *endpoint;
	const struct agent_spec *agent;
	const struct sandbox_ops *backend;
	struct sandbox_host *host;
	const struct out_dir *out;
	const char *agent_binary; /* on the host */
	enum rollout_mode mode;
	enum on_agent_failure on_agent_failure;
	uint64_t agent_timeout_ms;
	uint64_t top_logprobs;
	uint64_t max_tokens_cap; /* 0: none */
	uint64_t max_turns;      /* 0: none */
	const char *sampling;    /* JSON object, or NULL */
	bool disable_thinking;
	bool auto_approve;
};

struct rollout;

struct rollout_handler {
	/* A state was entered; for people who watch. */
	void (*on_state)(struct rollout *rollout, enum rollout_state state,
			 void *arg);

	/* The last callback: result.json is written (or `err` says why not);
	 * the result lives until rollout_free(). */
	void (*on_done)(struct rollout *rollout, const struct result *result,
			const struct error *err, void *arg);
};

struct rollout *rollout_new(const struct rollout_spec *spec,
			    const struct rollout_handler *handler, void *arg,
			    struct error *err);
void rollout_start(struct rollout *rollout);

/* The result is then ROLLOUT_CANCELLED; on_done still comes. */
void rollout_cancel(struct rollout *rollout);

const char *rollout_id(const struct rollout *rollout);

/* "running" and so on. */
const char *rollout_state_name(enum rollout_state state);

/* After on_done. */
void rollout_free(struct rollout *rollout);

#endif
