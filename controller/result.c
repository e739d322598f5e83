/* result.json */
#include "controller/result.h"

#include <stdlib.h>

#include "shared/json_write.h"
#include "shared/limits.h"
#include "shared/mem.h"
#include "shared/version.h"

const char *rollout_outcome_name(enum rollout_outcome outcome)
{
	static const char *const names[] = {
		[ROLLOUT_OUTCOME_NONE] = "none",
		[ROLLOUT_COMPLETED] = "completed",
		[ROLLOUT_FAILED] = "failed",
		[ROLLOUT_AGENT_FAILED] = "agent_failed",
		[ROLLOUT_TIMED_OUT] = "timed_out",
		[ROLLOUT_CANCELLED] = "cancelled",
	};

	return names[outcome];
}

const char *stop_reason_name(enum stop_reason reason)
{
	static const char *const names[] = {
		[STOP_NONE] = NULL,
		[STOP_DONE] = "done",
		[STOP_MAX_TURNS] = "max_turns",
		[STOP_CONTEXT] = "context",
		[STOP_TIMEOUT] = "timeout",
		[STOP_ERROR] = "error",
	};

	return names[reason];
}

static void add_text(cJSON *object, const char *name, const char *text)
{
	if (text)
		cJSON_AddStringToObject(object, name, text);
	else
		cJSON_AddNullToObject(object, name);
}

/* Bytes from inside, made UTF-8 by the JSON writer. */
static cJSON *make_text(struct span bytes)
{
	struct json_writer jw;
	cJSON *json = NULL;
	struct error err;
	struct buf quoted;

	buf_init(&quoted, bytes.len * 6 + 64);
	jw_init(&jw, &quoted);
	jw_string(&jw, bytes);
	if (jw_finish(&jw, &err))
		json = cJSON_CreateRaw(buf_span(&quoted).data);
	buf_release(&quoted);
	return json;
}

static void add_bytes(cJSON *object, const char *name, struct span bytes)
{
	cJSON_AddItemToObject(object, name, make_text(bytes));
}

static void add_tail(cJSON *object, const char *name, struct span bytes)
{
	add_bytes(object, name, commands_tail(bytes));
}

static double seconds(uint64_t ms)
{
	return (double)ms / 1000;
}

static void add_commands(cJSON *json, const char *name,
			 const struct commands *commands)
{
	cJSON *array = cJSON_AddArrayToObject(json, name);

	for (size_t i = 0; i < commands->count; i++) {
		const struct command_result *r = &commands->results[i];
		cJSON *item = cJSON_CreateObject();

		add_bytes(item, "cmd", span_of(r->command));
		cJSON_AddNumberToObject(item, "exit_code", r->exit_code);
		add_tail(item, "stdout", buf_span(&r->out));
		add_tail(item, "stderr", buf_span(&r->err));
		cJSON_AddNumberToObject(item, "duration_s",
					seconds(r->duration_ms));
		cJSON_AddBoolToObject(item, "timed_out", r->timed_out);
		cJSON_AddItemToArray(array, item);
	}
}

static void add_files(cJSON *json, const struct collect *c)
{
	cJSON *files = cJSON_AddObjectToObject(json, "files");
	cJSON *extra = cJSON_AddArrayToObject(json, "files_extra");

	for (size_t i = 0; i < c->file_count; i++)
		if (c->files[i].text)
			add_bytes(files, c->files[i].path,
				  span_from(c->files[i].text,
					    c->files[i].text_len));
	for (size_t i = 0; i < c->missed_count; i++)
		cJSON_AddItemToArray(extra, make_text(span_of(c->missed[i])));
	if (c->missed_more) {
		char *more = xasprintf("(and %zu more)", c->missed_more);

		cJSON_AddItemToArray(extra, cJSON_CreateString(more));
		free(more);
	}
}

static void add_usage(cJSON *json, const struct trace_summary *trace)
{
	cJSON *usage = cJSON_AddObjectToObject(json, "usage");

	cJSON_AddNumberToObject(usage, "turns", (double)trace->count);
	cJSON_AddNumberToObject(usage, "turns_exact", (double)trace->exact);
	cJSON_AddNumberToObject(usage, "prompt_tokens",
				(double)trace->prompt_tokens);
	cJSON_AddNumberToObject(usage, "completion_tokens",
				(double)trace->completion_tokens);
}

static void add_timings(cJSON *json, const struct result *r)
{
	cJSON *timings = cJSON_AddObjectToObject(json, "timings");

	for (size_t i = 0; i < r->phase_count; i++) {
		char *name = xasprintf("%s_s", r->phases[i].name);

		cJSON_AddNumberToObject(timings, name,
					seconds(r->phases[i].ms));
		free(name);
	}
}

static void add_error(cJSON *json, const struct error *error)
{
	if (error->kind == ERROR_NONE) {
		cJSON_AddNullToObject(json, "error");
		cJSON_AddNullToObject(json, "error_kind");
		return;
	}
	add_bytes(json, "error", span_of(error->text));
	cJSON_AddStringToObject(json, "error_kind",
				error_kind_name(error->kind));
}

static void add_reward(cJSON *json, const struct result *r)
{
	if (r->has_reward)
		cJSON_AddNumberToObject(json, "reward", r->reward);
	else
		cJSON_AddNullToObject(json, "reward");
	if (r->has_agent_exit_code)
		cJSON_AddNumberToObject(json, "agent_exit_code",
					r->agent_exit_code);
	else
		cJSON_AddNullToObject(json, "agent_exit_code");
}

static cJSON *to_json(const struct result *r)
{
	cJSON *json = cJSON_CreateObject();

	add_text(json, "task_id", r->task_id);
	add_text(json, "rollout_id", r->rollout_id);
	add_text(json, "sandbox_id", r->sandbox_id);
	add_reward(json, r);
	add_text(json, "outcome", rollout_outcome_name(r->outcome));
	add_text(json, "stop_reason", stop_reason_name(r->stop_reason));
	cJSON_AddBoolToObject(json, "truncated", r->truncated);
	add_error(json, r->error);
	cJSON_AddNumberToObject(json, "wall_s", seconds(r->wall_ms));
	add_text(json, "mode", r->mode);
	add_text(json, "sandbox", r->backend);
	add_text(json, "agent", r->agent);
	add_text(json, "endpoint", r->endpoint);
	add_text(json, "model", r->model);
	cJSON_AddBoolToObject(json, "key_protected", r->key_protected);
	add_usage(json, r->trace);
	add_timings(json, r);
	add_commands(json, "setup_results", r->setup);
	add_commands(json, "verify_results", r->verify);
	if (r->reward_override_ignored)
		add_bytes(json, "reward_override_ignored",
			  span_of(r->reward_override_ignored));
	else
		cJSON_AddNullToObject(json, "reward_override_ignored");
	cJSON_AddItemToObject(json, "proxy_turns",
			      cJSON_Duplicate(r->trace->proxy_turns, true));
	add_files(json, r->collect);
	add_tail(json, "agent_log_tail", r->agent_log);
	if (r->log_fault->kind != ERROR_NONE)
		add_bytes(json, "agent_log_fault", span_of(r->log_fault->text));
	else
		cJSON_AddNullToObject(json, "agent_log_fault");
	add_tail(json, "proxy_log_tail", r->proxy_log);
	cJSON_AddItemToObject(json, "metadata",
			      r->metadata ? cJSON_CreateRaw(r->metadata)
					  : cJSON_CreateObject());
	add_text(json, "octap_version", OCTAP_VERSION);
	return json;
}

bool result_encode(const struct result *result, struct buf *out,
		   struct error *err)
{
	cJSON *json = to_json(result);
	char *text = cJSON_Print(json);
	bool ok;

	cJSON_Delete(json);
	if (!text)
		return error_set(err, ERROR_SYSTEM, "cannot print the result");
	ok = buf_add(out, span_of(text), err) && buf_add(out, SPAN("\n"), err);
	cJSON_free(text);
	return ok;
}
