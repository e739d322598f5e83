/* What a rollout does in each of its states. */
#include "controller/rollout_states.h"

#include <stdlib.h>

#include "controller/env.h"
#include "controller/launch.h"
#include "controller/mask_json.h"
#include "shared/clock.h"
#include "shared/file.h"
#include "shared/limits.h"
#include "shared/log.h"
#include "shared/loop.h"

static void create_sandbox(struct rollout *r)
{
	const struct sandbox_spec spec = {
		.id = r->id,
		.agent_binary = r->spec.agent_binary,
	};
	struct error err;

	r->sandbox = sandbox_create(r->spec.backend, r->spec.host, &spec,
				    rollout_on_event, r, &err);
	if (!r->sandbox)
		rollout_fail(r, &err);
}

static void probe_sandbox(struct rollout *r)
{
	const struct job_spec job = {
		.command = "true",
		.cwd = "/",
		.env = env_base,
	};
	struct error err;

	r->job = sandbox_start_job(r->sandbox, &job, &err);
	if (!r->job) {
		error_wrap(&err, "first command in the sandbox");
		rollout_fail(r, &err);
	}
}

static void on_staged(const struct error *err, void *arg)
{
	struct rollout *r = arg;

	if (err)
		rollout_fail(r, err);
	else
		rollout_enter(r, ROLLOUT_SETUP);
}

static void stage_files(struct rollout *r)
{
	struct error err;

	/* The plan's files do not depend on the proxy; its environment does. */
	if (!launch_agent_plan(&r->spec, 0, r->client_key, &r->plan, &err)) {
		rollout_fail(r, &err);
		return;
	}
	launch_fill_stage(&r->spec, &r->plan, &r->stage);
	stage_begin(&r->stage, r->sandbox, on_staged, r);
}

static void setup_failed(struct rollout *r, const struct command_result *last)
{
	struct error err;

	error_set(&err, ERROR_REFUSED, "setup command %s (exit %d): %.120s",
		  last->timed_out ? "timed out" : "failed", last->exit_code,
		  last->command);
	rollout_fail(r, &err);
}

static void on_setup_done(void *arg)
{
	struct rollout *r = arg;

	if (commands_passed(&r->setup) < r->setup.count)
		setup_failed(r, &r->setup.results[r->setup.count - 1]);
	else
		rollout_enter(r, r->spec.mode == ROLLOUT_BLACK_BOX
					 ? ROLLOUT_RUNNING
					 : ROLLOUT_ARMING);
}

static void run_setup(struct rollout *r)
{
	const char **env =
		env_merge((const char *const *)r->spec.task->env, env_base);
	const struct commands_spec spec = {
		.sandbox = r->sandbox,
		.list = r->spec.task->setup,
		.env = env,
		.cwd = TASK_WORKDIR,
		.timeout_ms = r->spec.task->setup_timeout_ms,
		.stop_at_failure = true,
	};

	/* until the rollout is freed */
	r->agent_env = env;
	commands_begin(&r->setup, &spec, on_setup_done, r);
}

static void start_proxy(struct rollout *r)
{
	struct proxy_spec spec = {
		.upstream_key = r->spec.endpoint->key,
		.client_key = r->client_key,
		.trace_path = r->spec.out->trace,
		.log_path = r->spec.out->proxy_log,
	};
	struct error err;

	r->proxy_options = launch_proxy_options(&r->spec);
	spec.options = (const char *const *)r->proxy_options;
	r->settle.proxy_running = sandbox_start_proxy(r->sandbox, &spec, &err);
	if (!r->settle.proxy_running) {
		error_wrap(&err, "start octap-proxy");
		rollout_fail(r, &err);
	}
}

static void start_agent(struct rollout *r)
{
	struct job_spec job = { .cwd = TASK_WORKDIR };
	const char **common;
	struct error err;

	agent_plan_release(&r->plan);
	if (!launch_agent_plan(&r->spec, r->proxy_port, r->client_key, &r->plan,
			       &err)) {
		rollout_fail(r, &err);
		return;
	}
	common = env_merge((const char *const *)r->spec.task->env, env_base);
	free(r->agent_env);
	r->agent_env = env_merge((const char *const *)r->plan.env, common);
	free(common);
	job.command = r->plan.command;
	job.env = r->agent_env;
	r->job = sandbox_start_job(r->sandbox, &job, &err);
	if (!r->job) {
		error_wrap(&err, "start the agent");
		rollout_fail(r, &err);
		return;
	}
	r->agent_started = true;
	loop_timer_start(r->deadline, r->spec.agent_timeout_ms);
}

static void on_settled(const struct error *err, void *arg);

static void settle(struct rollout *r)
{
	settle_begin(&r->settle, r->sandbox,
		     r->agent_started ? r->spec.agent : NULL, on_settled, r);
}

static void on_verified(const struct error *err, void *arg)
{
	struct rollout *r = arg;

	if (err) {
		rollout_fail(r, err);
		return;
	}
	r->result.has_reward = r->verify.has_reward;
	r->result.reward = r->verify.reward;
	rollout_enter(r, ROLLOUT_COLLECTING);
}

static void on_collected(void *arg)
{
	rollout_enter(arg, ROLLOUT_CLOSING);
}

static void close_sandbox(struct rollout *r)
{
	if (r->sandbox)
		sandbox_destroy(r->sandbox);
	else
		rollout_enter(r, ROLLOUT_DONE);
}

static void judge(struct rollout *r)
{
	struct error model_error = ERROR_INIT;
	const struct agent_end end = {
		.timed_out = r->agent_timed_out,
		.exit_code = r->result.agent_exit_code,
		.max_turns_reached = r->settle.max_turns_reached,
		.stop = r->spec.agent->stop_of_log(buf_span(&r->settle.log),
						   r->result.agent_exit_code),
		.timeout_ms = r->spec.agent_timeout_ms,
		.recorded = r->spec.mode != ROLLOUT_BLACK_BOX,
		.turns = r->trace.count,
		.model_end = model_end_of(&r->trace, &model_error),
		.model_error = &model_error,
	};
	struct judgement j = judge_agent(&end, r->spec.on_agent_failure);

	rollout_set_outcome(r, j.outcome, &j.error);
	r->result.stop_reason = j.stop_reason;
	r->result.truncated = j.truncated;
	r->result.has_reward = j.reward_zero;
	r->verify_wanted =
		j.verify && r->spec.task->verify && r->spec.task->verify[0];
}

/* A rollout whose calls were not recorded is of no use to anybody. */
static bool check_turns(struct rollout *r, struct error *err)
{
	if (r->spec.mode == ROLLOUT_BLACK_BOX ||
	    r->result.outcome != ROLLOUT_COMPLETED || r->trace.count)
		return true;
	return error_set(err, ERROR_SYSTEM,
			 "the agent ended without a model call through the "
			 "proxy: see agent.jsonl");
}

static void on_settled(const struct error *err, void *arg)
{
	struct rollout *r = arg;
	struct error own;
	bool ok = trace_summary_load(&r->trace, r->spec.out->trace, true, &own);

	if (!ok)
		error_wrap(&own, "trace");
	else if ((r->agent_ended || r->agent_timed_out) &&
		 r->result.outcome == ROLLOUT_OUTCOME_NONE)
		judge(r);
	if (!ok || !check_turns(r, &own)) {
		r->result.outcome = ROLLOUT_OUTCOME_NONE;
		rollout_fail(r, &own);
	} else if (err) {
		rollout_fail(r, err);
	} else {
		rollout_enter(r, r->verify_wanted ? ROLLOUT_VERIFYING
						  : ROLLOUT_COLLECTING);
	}
}

static void read_proxy_log(struct rollout *r)
{
	struct error err;

	if (r->spec.mode != ROLLOUT_BLACK_BOX &&
	    !file_read(r->spec.out->proxy_log, &r->proxy_log, &err))
		buf_clear(&r->proxy_log);
}

static void fill_result(struct rollout *r)
{
	struct result *result = &r->result;

	read_proxy_log(r);
	log_masked(r->error.text);
	result->wall_ms = clock_monotonic_ms() - r->started_ms;
	result->agent_log = buf_span(&r->settle.log);
	result->proxy_log = buf_span(&r->proxy_log);
	result->reward_override_ignored = r->verify.override_ignored;
	result->phases = r->phases;
	result->phase_count = r->phase_count;
	result->error = &r->error;
	if (!r->trace.proxy_turns)
		r->trace.proxy_turns = cJSON_CreateArray();
}

static void write_result(struct rollout *r)
{
	struct buf text, masked;
	struct error err;
	bool ok;

	fill_result(r);
	buf_init(&text, LIMIT_TRACE_RECORD);
	buf_init(&masked, LIMIT_TRACE_RECORD);
	ok = result_encode(&r->result, &text, &err) &&
	     mask_json(buf_span(&text), &masked, &err) &&
	     file_write_atomic(r->spec.out->result, buf_span(&masked), &err);
	buf_release(&text);
	buf_release(&masked);
	r->handler.on_done(r, &r->result, ok ? NULL : &err, r->arg);
}

void rollout_begin_state(struct rollout *r, enum rollout_state state)
{
	switch (state) {
	case ROLLOUT_QUEUED:
		break;
	case ROLLOUT_CREATING:
		create_sandbox(r);
		break;
	case ROLLOUT_PROBING:
		probe_sandbox(r);
		break;
	case ROLLOUT_STAGING:
		stage_files(r);
		break;
	case ROLLOUT_SETUP:
		run_setup(r);
		break;
	case ROLLOUT_ARMING:
		start_proxy(r);
		break;
	case ROLLOUT_RUNNING:
		start_agent(r);
		break;
	case ROLLOUT_SETTLING:
		settle(r);
		break;
	case ROLLOUT_VERIFYING:
		verify_begin(&r->verify, r->sandbox, r->spec.task, on_verified,
			     r);
		break;
	case ROLLOUT_COLLECTING:
		r->collect.mask = r->spec.mode == ROLLOUT_BLACK_BOX;
		collect_begin(&r->collect, r->sandbox, r->spec.out->files,
			      on_collected, r);
		break;
	case ROLLOUT_CLOSING:
		close_sandbox(r);
		break;
	case ROLLOUT_DONE:
		write_result(r);
		break;
	}
}
