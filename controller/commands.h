#ifndef CONTROLLER_COMMANDS_H
#define CONTROLLER_COMMANDS_H

#include <stdint.h>

#include "controller/sandbox/sandbox.h"
#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"

/*
 * A list of commands run one after the other in a sandbox, each with its real
 * exit code, the end of its output and its duration.
 *
 * A command that takes too long is killed with its process group.  What else
 * it left running is for whoever waits between the commands to purge.
 */
struct command_result {
	const char *command; /* borrowed from the task */
	int exit_code;       /* -1: it did not start, or not end */
	bool timed_out;
	struct buf out, err; /* the last bytes of stdout and stderr */
	uint64_t duration_ms;
};

/* A command has ended: the next one, if any, waits for commands_go_on(). */
typedef void commands_ended_fn(void *arg);

struct commands_spec {
	struct sandbox *sandbox;
	char *const *list; /* NULL-terminated; NULL: none */
	const char *const *env;
	const char *cwd;
	uint64_t timeout_ms; /* of each */
	bool stop_at_failure;
	commands_ended_fn *on_ended; /* NULL: nobody waits in between */
};

/* All ran, or the first failed. */
typedef void commands_done_fn(void *arg);

struct commands {
	struct commands_spec spec;
	commands_done_fn *on_done;
	void *arg;
	struct command_result *results;
	size_t count; /* of results */
	struct job *job;
	struct loop_timer *timer;
	uint64_t started_ms;
};

void commands_init(struct commands *commands);

/* `on_done` may come from inside when there is nothing to run. */
void commands_begin(struct commands *commands, const struct commands_spec *spec,
		    commands_done_fn *on_done, void *arg);

/* After on_ended. */
void commands_go_on(struct commands *commands);

/* Hand on each event of the sandbox while commands run. */
void commands_on_event(struct commands *commands,
		       const struct sandbox_event *event);

/* Take no notice of anything any more; no callback comes. */
void commands_stop(struct commands *commands);

/* How many ended with exit code 0. */
size_t commands_passed(const struct commands *commands);

/* The text for a result: the last characters of an output, whole UTF-8. */
struct span commands_tail(struct span text);

void commands_release(struct commands *commands);

#endif
