/* Hidden files, verify commands, reward. */
#include "controller/verify.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "controller/env.h"
#include "shared/limits.h"
#include "shared/mem.h"

static const char *const verify_env[] = {
	"OCTAP_REWARD_FILE=" VERIFY_REWARD_FILE,
	NULL,
};

void verify_init(struct verify *v)
{
	*v = (struct verify){ 0 };
	stage_init(&v->stage);
	commands_init(&v->commands);
}

void verify_release(struct verify *v)
{
	stage_release(&v->stage);
	commands_release(&v->commands);
	free(v->env);
	free(v->override_ignored);
	*v = (struct verify){ 0 };
}

bool verify_parse_reward(struct span text, double *reward)
{
	char copy[64];
	char *end;
	double value;

	text = span_trim(text);
	if (!text.len || text.len >= sizeof(copy))
		return false;
	memcpy(copy, text.data, text.len);
	copy[text.len] = '\0';
	/* strtod would also take "nan", "inf" and hexadecimal */
	if (strspn(copy, "+-0123456789.eE") != text.len)
		return false;
	errno = 0;
	value = strtod(copy, &end);
	if (*end || end == copy || errno || !isfinite(value) || value < 0 ||
	    value > 1)
		return false;
	*reward = value;
	return true;
}

static void score(struct verify *v)
{
	v->has_reward = v->commands.count > 0;
	if (v->has_reward)
		v->reward = (double)commands_passed(&v->commands) /
			    (double)v->commands.count;
}

static void override_reward(struct verify *v, struct span text)
{
	double reward;

	if (!v->commands.count)
		return;
	if (verify_parse_reward(text, &reward)) {
		v->reward = reward;
		return;
	}
	if (text.len > LIMIT_OUTPUT_TAIL)
		text.len = LIMIT_OUTPUT_TAIL;
	v->override_ignored = xstrndup(text.data, text.len);
}

static void on_commands_done(const struct error *err, void *arg)
{
	struct verify *v = arg;
	struct error own;

	if (err) {
		v->on_done(err, v->arg);
		return;
	}
	score(v);
	v->step = VERIFY_READING;
	if (!sandbox_read_file(v->sandbox, VERIFY_REWARD_FILE,
			       LIMIT_REWARD_FILE, &own))
		v->on_done(&own, v->arg);
}

static void on_staged(const struct error *err, void *arg)
{
	struct verify *v = arg;
	const struct commands_spec spec = {
		.sandbox = v->sandbox,
		.list = v->task->verify,
		.env = v->env,
		.cwd = TASK_WORKDIR,
		.timeout_ms = v->task->verify_timeout_ms,
	};

	if (err) {
		v->on_done(err, v->arg);
		return;
	}
	v->step = VERIFY_COMMANDS;
	commands_begin(&v->commands, &spec, on_commands_done, v);
}

static const char **make_env(const struct task *task)
{
	const char **base = env_merge(verify_env, env_base);
	const char **env = env_merge((const char *const *)task->env, base);

	free(base);
	return env;
}

void verify_begin(struct verify *v, struct sandbox *sandbox,
		  const struct task *task, verify_done_fn *on_done, void *arg)
{
	v->sandbox = sandbox;
	v->task = task;
	v->on_done = on_done;
	v->arg = arg;
	v->env = make_env(task);
	stage_fresh_dir(&v->stage, VERIFY_LOG_DIR);
	stage_fresh_dir(&v->stage, VERIFY_DIR);
	for (size_t i = 0; i < task->verify_file_count; i++) {
		const struct task_file *file = &task->verify_files[i];

		stage_file(&v->stage, file->path,
			   span_from(file->content, file->len),
			   file->executable);
	}
	v->step = VERIFY_STAGING;
	stage_begin(&v->stage, sandbox, on_staged, v);
}

/* No reward file, or one that cannot be read straight. */
static void reward_unread(struct verify *v, const struct error *err)
{
	if (err->kind != ERROR_ABSENT)
		v->override_ignored = xstrdup(err->text);
	v->on_done(NULL, v->arg);
}

void verify_on_event(struct verify *v, const struct sandbox_event *event)
{
	switch (v->step) {
	case VERIFY_STAGING:
		stage_on_event(&v->stage, event);
		break;
	case VERIFY_COMMANDS:
		commands_on_event(&v->commands, event);
		break;
	case VERIFY_READING:
		if (event->type == SANDBOX_CONTENT) {
			override_reward(v, event->bytes);
			v->on_done(NULL, v->arg);
		} else if (event->type == SANDBOX_FAILED) {
			reward_unread(v, event->err);
		}
		break;
	}
}
