#ifndef CONTROLLER_TASK_H
#define CONTROLLER_TASK_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * What to do: an instruction for the agent, what to prepare before it and how
 * to score after it.  Read from a JSON object; immutable afterwards.
 *
 *	task_id			text; default "task"
 *	instruction		text, required
 *	setup, verify		lists of commands for bash
 *	files, verify_files	{path: content}; a relative path is meant below
 *				the workdir
 *	upload, verify_upload	lists of {"from": file on the host, relative to
 *				the task file, "to": path}
 *	env			{name: text}, for setup, agent and verify
 *	metadata		any object, passed on to the result as it stands
 *	agent_timeout_s		seconds, default 600
 *	setup_timeout_s		of each command, default 300
 *	verify_timeout_s	of each command, default 120
 *	system_prompt		text in place of the agent's own
 *	tools			list of the agent's tools that are allowed
 *	extra_opencode_json	object merged into opencode's configuration
 *
 * verify_files and verify_upload are written only when every process of the
 * agent is dead: it never sees them.
 */
struct task_file {
	char *path;    /* inside the sandbox, absolute */
	char *content; /* its bytes; owned */
	size_t len;
	bool executable;
};

struct task {
	char *id;
	char *instruction;
	char **setup, **verify; /* NULL-terminated */
	struct task_file *files, *verify_files;
	size_t file_count, verify_file_count;
	char **env; /* "NAME=value", NULL-terminated */
	uint64_t agent_timeout_ms, setup_timeout_ms, verify_timeout_ms;
	char *system_prompt; /* NULL: the agent's own */
	char **tools;        /* NULL-terminated; NULL: all */
	char *metadata;      /* JSON, as the task has it; or NULL */
	cJSON *extra_config; /* object, or NULL */
};

/* Where the agent works. */
#define TASK_WORKDIR "/home/user/workdir"

/*
 * Parse a task.  Uploads are read now, from `folder` if they are relative.
 * ERROR_USAGE names the member and what it should be.
 */
bool task_parse(struct task *task, struct span json, const char *folder,
		struct error *err) MUST_USE;

/* The same from a file. */
bool task_load(struct task *task, const char *path, struct error *err) MUST_USE;

void task_release(struct task *task);

#endif
