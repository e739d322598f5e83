/* From an agent's end to an outcome. */
#include "controller/judge.h"

static struct judgement judge_end(const struct agent_end *end)
{
	struct judgement j = { .error = ERROR_INIT };

	if (end->timed_out) {
		j.outcome = ROLLOUT_TIMED_OUT;
		j.stop_reason = STOP_TIMEOUT;
		error_set(&j.error, ERROR_TIMEOUT,
			  "agent timeout: it ran longer than %llu s",
			  (unsigned long long)end->timeout_ms / 1000);
	} else if (end->max_turns_reached || end->stop == AGENT_STOP_CONTEXT) {
		j.outcome = ROLLOUT_COMPLETED;
		j.stop_reason =
			end->max_turns_reached ? STOP_MAX_TURNS : STOP_CONTEXT;
		j.truncated = true;
	} else if (end->exit_code) {
		j.outcome = ROLLOUT_AGENT_FAILED;
		j.stop_reason = STOP_ERROR;
		error_set(&j.error, ERROR_REFUSED,
			  "agent exited non-zero (%d): see agent.jsonl and "
			  "agent.stderr",
			  end->exit_code);
	} else {
		j.outcome = ROLLOUT_COMPLETED;
		j.stop_reason = STOP_DONE;
	}
	return j;
}

struct judgement judge_agent(const struct agent_end *end,
			     enum on_agent_failure policy)
{
	struct judgement j = judge_end(end);

	if (j.outcome == ROLLOUT_COMPLETED) {
		j.verify = true;
	} else if (policy == AGENT_FAILURE_SCORE) {
		j.verify = j.truncated = true;
	} else if (policy == AGENT_FAILURE_ZERO) {
		j.reward_zero = true;
	}
	return j;
}
