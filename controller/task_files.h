#ifndef CONTROLLER_TASK_FILES_H
#define CONTROLLER_TASK_FILES_H

#include <cjson/cJSON.h>

#include "controller/task.h"
#include "shared/compiler.h"
#include "shared/error.h"

/*
 * The files of a task: read from its members, checked together at the end.
 * For task.c.
 */

/* {path: text} */
bool task_files_add(struct task_file **files, size_t *count, const cJSON *value,
		    const char *name, struct error *err) MUST_USE;

/* [{"from": file on the host, "to": path}]; relative ones from `folder`. */
bool task_files_upload(struct task_file **files, size_t *count,
		       const char *folder, const cJSON *value, const char *name,
		       struct error *err) MUST_USE;

/*
 * No two have one path, none lies below another, and none is in the way of what
 * octap itself writes.
 */
bool task_files_check(const struct task_file *files, size_t count,
		      const char *name, struct error *err) MUST_USE;

void task_files_free(struct task_file *files, size_t count);

/* "task: NAME must be EXPECTED"; returns false. */
bool task_member_wrong(const char *name, const char *expected,
		       struct error *err);

#endif
