#ifndef CONTROLLER_STAGE_H
#define CONTROLLER_STAGE_H

#include "controller/sandbox/sandbox.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * A list of files to be written into a sandbox or removed from it, and folders
 * to be made afresh, in the order in which they were added.
 */
enum stage_action {
	STAGE_WRITE,
	STAGE_FRESH_DIR,
	STAGE_REMOVE,
};

struct stage_step {
	enum stage_action action;
	char *path;        /* inside, absolute */
	struct span bytes; /* borrowed until the stage is done */
	bool executable;
};

/* `err` NULL: all is there. */
typedef void stage_done_fn(const struct error *err, void *arg);

struct stage {
	struct sandbox *sandbox;
	struct stage_step *steps;
	size_t count, next;
	stage_done_fn *on_done;
	void *arg;
};

void stage_init(struct stage *stage);
void stage_file(struct stage *stage, const char *path, struct span bytes,
		bool executable);
void stage_fresh_dir(struct stage *stage, const char *path);
void stage_remove(struct stage *stage, const char *path);

/* `on_done` may come from inside. */
void stage_begin(struct stage *stage, struct sandbox *sandbox,
		 stage_done_fn *on_done, void *arg);

/* Hand on each event of the sandbox until it is done. */
void stage_on_event(struct stage *stage, const struct sandbox_event *event);

void stage_release(struct stage *stage);

#endif
