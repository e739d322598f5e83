#ifndef CONTROLLER_AGENT_AGENT_H
#define CONTROLLER_AGENT_AGENT_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * A coding agent as data: how to configure it, how to start it, how to read its
 * log.  Nothing here does I/O; the rollout carries the plan out.
 */
struct agent_input {
	const char *binary;        /* inside the sandbox */
	const char *base_url;      /* as seen from inside; ends in /v1 or so */
	const char *key;           /* what the agent is to send */
	const char *model;         /* full id */
	const char *system_prompt; /* NULL: the agent's own */
	char *const *tools;        /* NULL-terminated; NULL: all */
	const cJSON *extra_config; /* object merged in, or NULL */
	bool auto_approve;
	uint64_t max_tokens_cap; /* 0: none */
	uint64_t context_tokens; /* the model's window */

	/* For the agent to send itself, when no proxy adds them. */
	bool disable_thinking;
	const cJSON *sampling; /* object, or NULL */
};

struct agent_file {
	char *path; /* inside, absolute */
	char *text;
};

/* What to write before it starts, and how to start it. */
struct agent_plan {
	struct agent_file *files;
	size_t file_count;
	char **env; /* "NAME=value", NULL-terminated; beside what any job has */
	char *command; /* for bash; in the workdir */
};

/* Where in the sandbox the rollout puts the instruction. */
#define AGENT_INSTRUCTION "/home/user/task/instruction.md"

/* How the agent says that it stopped. */
enum agent_stop {
	AGENT_STOP_DONE,
	AGENT_STOP_CONTEXT, /* the model's window was full */
	AGENT_STOP_ERROR,
};

struct agent_spec {
	const char *name;
	const char *log_path;    /* its events, inside the sandbox */
	const char *stderr_path; /* likewise */

	bool (*plan)(const struct agent_input *, struct agent_plan *,
		     struct error *);

	/* Told from its log (all of it, or what there is) and exit code. */
	enum agent_stop (*stop_of_log)(struct span log, int exit_code);
};

extern const struct agent_spec agent_opencode;

/* NULL: there is no such agent. */
const struct agent_spec *agent_find(const char *name);

void agent_plan_release(struct agent_plan *plan);

/* For the agents' own files: add to a plan; the texts are taken over. */
void agent_plan_file(struct agent_plan *plan, const char *path, char *text);
void agent_plan_env(struct agent_plan *plan, char *name_and_value);

/*
 * A word for the shell, in single quotes: the one place where text becomes
 * part of a command.  The caller frees it.
 */
char *agent_quote(const char *text);

#endif
