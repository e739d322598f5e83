#ifndef CONTROLLER_COLLECT_H
#define CONTROLLER_COLLECT_H

#include "controller/sandbox/sandbox.h"
#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"

/*
 * Copies the files of the workdir out of a sandbox in which nothing runs any
 * more: regular files, without .git and node_modules, within the limits of
 * limits.h.  Best effort: what cannot be had is named in `missed`.
 *
 * The listing comes from inside and is not trusted: a path that would lead out
 * of the target folder counts as missed, and so does one that is not UTF-8.
 */
struct collected_file {
	char *path; /* relative to the workdir */
	char *text; /* its beginning, if it is to be quoted; else NULL */
	size_t text_len;
};

typedef void collect_done_fn(void *arg);

struct listed_file {
	char *path;
	uint64_t size;
};

struct collect {
	struct sandbox *sandbox;
	const char *target; /* folder on the host */
	bool mask;          /* the agent may have put the key into files */
	collect_done_fn *on_done;
	void *arg;
	struct job *job;
	struct buf listing;
	struct listed_file *list;
	size_t list_count, next;
	bool waiting; /* for what was under way before to end */
	bool reading; /* list[next] was asked for */
	uint64_t total;
	struct collected_file *files;
	size_t file_count;
	size_t quoted; /* files with a text */
	char **missed; /* the first so many; any bytes */
	size_t missed_count;
	size_t missed_more; /* those not in `missed` */
};

void collect_init(struct collect *collect);

/* `target` is made when there is something to put into it. */
void collect_begin(struct collect *collect, struct sandbox *sandbox,
		   const char *target, collect_done_fn *on_done, void *arg);
void collect_on_event(struct collect *collect,
		      const struct sandbox_event *event);
void collect_release(struct collect *collect);

#endif
