/* Hidden files, verify commands, reward. */
#include "controller/verify.h"

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
	free(v->reward_text);
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
	value = strtod(copy, &end);
	if (*end || end == copy || !isfinite(value) || value < 0 || value > 1)
		return false;
	*reward = value > 0 ? value : 0; /* no -0 */
	return true;
}

/* Does a text of the task's own use the reward file? */
static bool uses_reward(struct span text)
{
	static const char *const words[] = { "OCTAP_REWARD_FILE",
					     VERIFY_REWARD_BELOW_HOME };

	for (size_t i = 0; text.len && i < ARRAY_LEN(words); i++)
		if (memmem(text.data, text.len, words[i], strlen(words[i])))
			return true;
	return false;
}

static bool hidden_use_reward(const struct task *task)
{
	for (size_t i = 0; i < task->verify_file_count; i++)
		if (uses_reward(span_from(task->verify_files[i].content,
					  task->verify_files[i].len)))
			return true;
	return false;
}

static bool command_uses_reward(const struct verify *v, size_t i)
{
	return v->hidden_use_reward || uses_reward(span_of(v->task->verify[i]));
}

static bool task_uses_reward(const struct verify *v)
{
	for (size_t i = 0; v->task->verify[i]; i++)
		if (command_uses_reward(v, i))
			return true;
	return false;
}

static const char **make_env(const struct verify *v)
{
	const char **base =
		env_merge(task_uses_reward(v) ? verify_env : NULL, env_base);
	const char **env = env_merge((const char *const *)v->task->env, base);

	free(base);
	return env;
}

static void forget_reward(struct verify *v)
{
	free(v->reward_text);
	free(v->override_ignored);
	v->reward_text = v->override_ignored = NULL;
}

static void score(struct verify *v)
{
	struct span text = span_from(v->reward_text, v->reward_len);

	v->has_reward = v->commands.count > 0;
	if (v->has_reward)
		v->reward = (double)commands_passed(&v->commands) /
			    (double)v->commands.count;
	if (!v->reward_text || verify_parse_reward(text, &v->reward))
		return;
	if (text.len > LIMIT_OUTPUT_TAIL)
		text.len = LIMIT_OUTPUT_TAIL;
	v->override_ignored = xstrndup(text.data, text.len);
}

static void on_commands_done(void *arg)
{
	struct verify *v = arg;

	score(v);
	v->on_done(NULL, v->arg);
}

/* On to the next command, or to the end. */
static void go_on(struct verify *v)
{
	struct error err;

	if (!v->task->verify[v->commands.count]) {
		commands_go_on(&v->commands);
		return;
	}
	v->step = VERIFY_PURGING;
	if (!sandbox_purge(v->sandbox, &err))
		v->on_done(&err, v->arg);
}

static void on_command_ended(void *arg)
{
	struct verify *v = arg;
	struct error err;

	if (!command_uses_reward(v, v->commands.count - 1)) {
		go_on(v);
		return;
	}
	v->step = VERIFY_READING;
	if (!sandbox_read_file(v->sandbox, VERIFY_REWARD_FILE,
			       LIMIT_REWARD_FILE, &err))
		v->on_done(&err, v->arg);
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
		.on_ended = on_command_ended,
	};

	if (err) {
		v->on_done(err, v->arg);
		return;
	}
	v->step = VERIFY_COMMAND;
	if (v->commands.count)
		commands_go_on(&v->commands);
	else
		commands_begin(&v->commands, &spec, on_commands_done, v);
}

static void stage_reward(struct verify *v)
{
	if (v->reward_text)
		stage_file(&v->stage, VERIFY_REWARD_FILE,
			   span_from(v->reward_text, v->reward_len), false);
	else
		stage_remove(&v->stage, VERIFY_REWARD_FILE);
}

/* The hidden files and the reward file, before each command. */
static void stage_all(struct verify *v)
{
	stage_release(&v->stage);
	if (!v->commands.count) {
		stage_fresh_dir(&v->stage, VERIFY_LOG_DIR);
		stage_fresh_dir(&v->stage, VERIFY_DIR);
	}
	stage_reward(v);
	for (size_t i = 0; i < v->task->verify_file_count; i++) {
		const struct task_file *file = &v->task->verify_files[i];

		stage_file(&v->stage, file->path,
			   span_from(file->content, file->len),
			   file->executable);
	}
	v->step = VERIFY_STAGING;
	stage_begin(&v->stage, v->sandbox, on_staged, v);
}

void verify_begin(struct verify *v, struct sandbox *sandbox,
		  const struct task *task, verify_done_fn *on_done, void *arg)
{
	v->sandbox = sandbox;
	v->task = task;
	v->on_done = on_done;
	v->arg = arg;
	v->hidden_use_reward = hidden_use_reward(task);
	v->env = make_env(v);
	stage_all(v);
}

/* What a command made of the reward file: the last one's word holds. */
static void reward_read(struct verify *v, const struct sandbox_event *event)
{
	forget_reward(v);
	if (event->type == SANDBOX_CONTENT) {
		v->reward_text = xstrndup(event->bytes.data, event->bytes.len);
		v->reward_len = event->bytes.len;
	} else if (event->err->kind != ERROR_ABSENT) {
		/* no file, or one that cannot be read straight */
		v->override_ignored = xstrdup(event->err->text);
	}
	go_on(v);
}

void verify_on_event(struct verify *v, const struct sandbox_event *event)
{
	switch (v->step) {
	case VERIFY_STAGING:
		stage_on_event(&v->stage, event);
		break;
	case VERIFY_COMMAND:
		commands_on_event(&v->commands, event);
		break;
	case VERIFY_READING:
		if (event->type == SANDBOX_CONTENT ||
		    event->type == SANDBOX_FAILED)
			reward_read(v, event);
		break;
	case VERIFY_PURGING:
		if (event->type == SANDBOX_PURGED)
			stage_all(v);
		else if (event->type == SANDBOX_FAILED)
			v->on_done(event->err, v->arg);
		break;
	}
}
