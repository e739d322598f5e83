#ifndef CONTROLLER_JUDGE_H
#define CONTROLLER_JUDGE_H

#include "controller/agent/agent.h"
#include "controller/model_end.h"
#include "controller/result.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * What an agent's end means.  Pure.
 *
 * A budget of model calls that is used up, and a full window, are no failures:
 * dropping such rollouts would drop exactly the overlong ones, so they are
 * scored, with `truncated`.  That a window was full is believed only when the
 * trace says so too: what runs under an agent can write to its log.
 *
 * Nor is it the agent's failure when the model server failed, or when it could
 * not be started: that says nothing about the model, whatever the policy.
 */

/* After a timeout or a non-zero exit of the agent. */
enum on_agent_failure {
	AGENT_FAILURE_NULL,  /* no reward, nothing is verified */
	AGENT_FAILURE_SCORE, /* verified and scored, `truncated` */
	AGENT_FAILURE_ZERO,  /* reward 0 */
};

struct agent_end {
	bool timed_out; /* we killed it */
	int exit_code;  /* if not */
	bool max_turns_reached;
	enum agent_stop stop;     /* as its log says */
	uint64_t timeout_ms;      /* for the text */
	bool recorded;            /* its calls were, so the next ones hold */
	size_t turns;             /* how many */
	enum model_end model_end; /* of the last one */
	const struct error *model_error;
};

struct judgement {
	enum rollout_outcome outcome;
	enum stop_reason stop_reason;
	bool truncated;
	bool verify;        /* run the verify commands */
	bool reward_zero;   /* the reward is 0 without them */
	struct error error; /* kind NONE: none */
};

struct judgement judge_agent(const struct agent_end *end,
			     enum on_agent_failure policy);

#endif
