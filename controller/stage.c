/* Writing files, one after the other. */
#include "controller/stage.h"

#include <stdlib.h>

#include "shared/mem.h"

void stage_init(struct stage *stage)
{
	*stage = (struct stage){ 0 };
}

void stage_release(struct stage *stage)
{
	for (size_t i = 0; i < stage->count; i++)
		free(stage->steps[i].path);
	free(stage->steps);
	*stage = (struct stage){ 0 };
}

static void add(struct stage *stage, struct stage_step step)
{
	stage->steps = xrealloc_array(stage->steps, stage->count + 1,
				      sizeof(*stage->steps));
	stage->steps[stage->count++] = step;
}

void stage_file(struct stage *stage, const char *path, struct span bytes,
		bool executable)
{
	add(stage, (struct stage_step){
			   .path = xstrdup(path),
			   .bytes = bytes,
			   .executable = executable,
		   });
}

void stage_fresh_dir(struct stage *stage, const char *path)
{
	add(stage, (struct stage_step){
			   .action = STAGE_FRESH_DIR,
			   .path = xstrdup(path),
		   });
}

void stage_remove(struct stage *stage, const char *path)
{
	add(stage, (struct stage_step){
			   .action = STAGE_REMOVE,
			   .path = xstrdup(path),
		   });
}

static bool do_step(struct sandbox *sandbox, const struct stage_step *step,
		    struct error *err)
{
	switch (step->action) {
	case STAGE_FRESH_DIR:
		return sandbox_fresh_dir(sandbox, step->path, err);
	case STAGE_REMOVE:
		return sandbox_remove(sandbox, step->path, err);
	default:
		return sandbox_write_file(sandbox, step->path, step->bytes,
					  step->executable, err);
	}
}

static void do_next(struct stage *stage)
{
	struct error err;

	if (stage->next == stage->count) {
		stage->on_done(NULL, stage->arg);
		return;
	}
	if (!do_step(stage->sandbox, &stage->steps[stage->next++], &err))
		stage->on_done(&err, stage->arg);
}

void stage_begin(struct stage *stage, struct sandbox *sandbox,
		 stage_done_fn *on_done, void *arg)
{
	stage->sandbox = sandbox;
	stage->on_done = on_done;
	stage->arg = arg;
	do_next(stage);
}

void stage_on_event(struct stage *stage, const struct sandbox_event *event)
{
	if (event->type == SANDBOX_WRITTEN)
		do_next(stage);
	else if (event->type == SANDBOX_FAILED)
		stage->on_done(event->err, stage->arg);
}
