/* From an agent's end to an outcome. */
#include "controller/judge.h"

/* What a shell says of a program that it cannot execute. */
#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND      127

static bool server_failed(const struct agent_end *end)
{
	return end->recorded && end->model_end == MODEL_END_FAILED &&
	       (end->timed_out || (end->exit_code && !end->max_turns_reached));
}

static bool never_ran(const struct agent_end *end)
{
	return !end->timed_out && (!end->recorded || !end->turns) &&
	       (end->exit_code == EXIT_NOT_EXECUTABLE ||
		end->exit_code == EXIT_NOT_FOUND);
}

static bool window_was_full(const struct agent_end *end)
{
	return end->stop == AGENT_STOP_CONTEXT &&
	       (!end->recorded || end->model_end == MODEL_END_OVERFLOW);
}

static struct judgement judge_end(const struct agent_end *end)
{
	struct judgement j = { .error = ERROR_INIT };

	if (server_failed(end)) {
		j.outcome = ROLLOUT_FAILED;
		j.error = *end->model_error;
	} else if (never_ran(end)) {
		j.outcome = ROLLOUT_FAILED;
		error_set(&j.error, ERROR_USAGE,
			  "the agent could not be started (exit %d): is its "
			  "binary executable, and built for this machine? "
			  "See agent.stderr",
			  end->exit_code);
	} else if (end->timed_out) {
		j.outcome = ROLLOUT_TIMED_OUT;
		j.stop_reason = STOP_TIMEOUT;
		error_set(&j.error, ERROR_TIMEOUT,
			  "agent timeout: it ran longer than %llu s",
			  (unsigned long long)end->timeout_ms / 1000);
	} else if (end->max_turns_reached || window_was_full(end)) {
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
	} else if (j.outcome == ROLLOUT_FAILED) {
		return j;
	} else if (policy == AGENT_FAILURE_SCORE) {
		j.verify = j.truncated = true;
	} else if (policy == AGENT_FAILURE_ZERO) {
		j.reward_zero = true;
	}
	return j;
}
