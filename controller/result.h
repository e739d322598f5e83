#ifndef CONTROLLER_RESULT_H
#define CONTROLLER_RESULT_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "controller/collect.h"
#include "controller/commands.h"
#include "controller/trace_summary.h"
#include "shared/compiler.h"
#include "shared/error.h"

/*
 * What became of a rollout, as result.json has it.  Names and meanings of the
 * members are those of OpenEnv's RolloutResult, with more added; docs/result.md
 * lists them.
 */
enum rollout_outcome {
	ROLLOUT_OUTCOME_NONE, /* still under way */
	ROLLOUT_COMPLETED,    /* the agent ended by itself; any reward */
	ROLLOUT_FAILED,       /* not the agent's fault: retry may help */
	ROLLOUT_AGENT_FAILED, /* the agent's own non-zero exit: never retried */
	ROLLOUT_TIMED_OUT,    /* the agent used up its time */
	ROLLOUT_CANCELLED,
};

/* How the agent stopped. */
enum stop_reason {
	STOP_NONE, /* it never ran, or the rollout failed */
	STOP_DONE,
	STOP_MAX_TURNS, /* its budget of model calls was used up */
	STOP_CONTEXT,   /* the model's window was full */
	STOP_TIMEOUT,
	STOP_ERROR,
};

struct phase_time {
	const char *name;
	uint64_t ms;
};

/* Borrows everything; filled by the rollout for the encoding. */
struct result {
	const char *rollout_id, *task_id, *sandbox_id;
	const char *mode, *backend, *agent;
	const char *endpoint, *model;
	enum rollout_outcome outcome;
	enum stop_reason stop_reason;
	bool truncated; /* max_turns or context: scored all the same */
	bool has_reward;
	double reward;
	const char *reward_override_ignored; /* NULL: none */
	bool has_agent_exit_code;
	int agent_exit_code;
	uint64_t wall_ms;
	const struct commands *setup, *verify;
	const struct trace_summary *trace;
	const struct collect *collect;
	struct span agent_log, proxy_log; /* whole; their ends are quoted */
	const struct error *log_fault;    /* kind NONE: the agent's are whole */
	bool key_protected;
	const char *metadata; /* JSON; NULL: none */
	const struct phase_time *phases;
	size_t phase_count;
	const struct error *error; /* kind NONE: none */
};

const char *rollout_outcome_name(enum rollout_outcome outcome);
const char *stop_reason_name(enum stop_reason reason); /* NULL: none */

/* JSON, indented, with a line feed at the end. */
bool result_encode(const struct result *result, struct buf *out,
		   struct error *err) MUST_USE;

#endif
