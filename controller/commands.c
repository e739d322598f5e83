/* Running a list of commands. */
#include "controller/commands.h"

#include <stdlib.h>

#include "shared/clock.h"
#include "shared/limits.h"
#include "shared/loop.h"
#include "shared/mem.h"

static void run_next(struct commands *c);

void commands_init(struct commands *c)
{
	*c = (struct commands){ 0 };
}

void commands_release(struct commands *c)
{
	for (size_t i = 0; i < c->count; i++) {
		buf_release(&c->results[i].out);
		buf_release(&c->results[i].err);
	}
	free(c->results);
	loop_timer_free(c->timer);
	*c = (struct commands){ 0 };
}

static struct command_result *current(struct commands *c)
{
	return &c->results[c->count - 1];
}

static void add_result(struct commands *c, const char *command)
{
	c->results =
		xrealloc_array(c->results, c->count + 1, sizeof(*c->results));
	c->results[c->count++] = (struct command_result){
		.command = command,
		.exit_code = -1,
	};
	buf_init(&current(c)->out, 2 * LIMIT_JOB_TAIL + 1);
	buf_init(&current(c)->err, 2 * LIMIT_JOB_TAIL + 1);
}

/* Keep the end of the output, LIMIT_JOB_TAIL bytes or somewhat more. */
static void keep_tail(struct buf *tail, struct span bytes)
{
	struct error err;

	if (bytes.len > LIMIT_JOB_TAIL)
		bytes = span_after(bytes, bytes.len - LIMIT_JOB_TAIL);
	if (tail->len + bytes.len > 2 * LIMIT_JOB_TAIL)
		buf_consume(tail,
			    tail->len + bytes.len - LIMIT_JOB_TAIL < tail->len
				    ? tail->len + bytes.len - LIMIT_JOB_TAIL
				    : tail->len);
	if (!buf_add(tail, bytes, &err))
		buf_clear(tail);
}

struct span commands_tail(struct span text)
{
	size_t start = 0, characters = 0;

	for (size_t i = text.len; i > 0; i--) {
		/* not in the middle of a character */
		if (((unsigned char)text.data[i - 1] & 0xC0) == 0x80)
			continue;
		if (++characters == LIMIT_OUTPUT_TAIL) {
			start = i - 1;
			break;
		}
	}
	return span_after(text, start);
}

static void on_timeout(void *arg)
{
	struct commands *c = arg;

	current(c)->timed_out = true;
	sandbox_kill_job(c->spec.sandbox, c->job);
}

static void ended(struct commands *c)
{
	if (c->spec.on_ended)
		c->spec.on_ended(c->arg);
	else
		run_next(c);
}

static void start(struct commands *c, const char *command)
{
	const struct job_spec job = {
		.command = command,
		.cwd = c->spec.cwd,
		.env = c->spec.env,
	};
	struct error err;

	add_result(c, command);
	c->started_ms = clock_monotonic_ms();
	c->job = sandbox_start_job(c->spec.sandbox, &job, &err);
	if (c->job) {
		loop_timer_start(c->timer, c->spec.timeout_ms);
		return;
	}
	keep_tail(&current(c)->err, span_of(err.text));
	ended(c);
}

static void run_next(struct commands *c)
{
	bool failed = c->count && current(c)->exit_code != 0;

	if (!c->spec.list || !c->spec.list[c->count] ||
	    (failed && c->spec.stop_at_failure))
		c->on_done(c->arg);
	else
		start(c, c->spec.list[c->count]);
}

void commands_begin(struct commands *c, const struct commands_spec *spec,
		    commands_done_fn *on_done, void *arg)
{
	c->spec = *spec;
	c->on_done = on_done;
	c->arg = arg;
	c->timer = loop_timer_new(spec->sandbox->host->loop, on_timeout, c);
	run_next(c);
}

void commands_go_on(struct commands *c)
{
	run_next(c);
}

static void job_ended(struct commands *c, int exit_code)
{
	loop_timer_stop(c->timer);
	c->job = NULL;
	current(c)->exit_code = exit_code;
	current(c)->duration_ms = clock_monotonic_ms() - c->started_ms;
	ended(c);
}

void commands_stop(struct commands *c)
{
	if (c->timer)
		loop_timer_stop(c->timer);
	if (c->job)
		current(c)->duration_ms = clock_monotonic_ms() - c->started_ms;
	c->job = NULL;
}

void commands_on_event(struct commands *c, const struct sandbox_event *event)
{
	switch (event->type) {
	case SANDBOX_JOB_OUTPUT:
		if (c->job && event->job == c->job)
			keep_tail(event->is_stderr ? &current(c)->err
						   : &current(c)->out,
				  event->bytes);
		break;
	case SANDBOX_JOB_EXIT:
		if (c->job && event->job == c->job)
			job_ended(c, event->exit_code);
		break;
	default:
		break;
	}
}

size_t commands_passed(const struct commands *c)
{
	size_t passed = 0;

	for (size_t i = 0; i < c->count; i++)
		passed += c->results[i].exit_code == 0;
	return passed;
}
