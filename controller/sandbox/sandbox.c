/* What all backends share: finding them, one operation at a time, reporting. */
#include "controller/sandbox/sandbox.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "shared/loop.h"
#include "shared/mem.h"

static const struct sandbox_ops *const backends[] = {
	&sandbox_bwrap,
};

const struct sandbox_ops *sandbox_backend_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(backends); i++)
		if (!strcmp(backends[i]->name, name))
			return backends[i];
	return NULL;
}

static bool is_plain(const char *path)
{
	for (;;) {
		size_t len = strcspn(path, "/");

		if (!len || len > NAME_MAX || (len == 1 && path[0] == '.') ||
		    (len == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		if (!path[len])
			return true;
		path += len + 1;
	}
}

const char *sandbox_path_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);
	bool below = !strncmp(path, folder, len) && path[len] == '/';

	return below && is_plain(path + len + 1) ? path + len + 1 : NULL;
}

static void free_sandbox(void *arg)
{
	struct sandbox *sandbox = arg;

	loop_timer_free(sandbox->outcome_timer);
	free(sandbox);
}

void sandbox_emit(struct sandbox *sandbox, const struct sandbox_event *event)
{
	if (event->type == SANDBOX_GONE)
		loop_defer_free(sandbox->host->loop, free_sandbox, sandbox);
	sandbox->on_event(sandbox, event, sandbox->arg);
}

static void on_outcome(void *arg)
{
	struct sandbox *sandbox = arg;

	sandbox->busy = false;
	sandbox_emit(sandbox, &sandbox->outcome);
}

void sandbox_report(struct sandbox *sandbox, struct sandbox_event outcome)
{
	sandbox->outcome = outcome;
	loop_timer_start(sandbox->outcome_timer, 0);
}

void sandbox_report_failure(struct sandbox *sandbox, const struct error *err)
{
	sandbox->outcome_error = *err;
	sandbox_report(sandbox, (struct sandbox_event){
					.type = SANDBOX_FAILED,
					.err = &sandbox->outcome_error,
				});
}

struct sandbox *sandbox_create(const struct sandbox_ops *ops,
			       struct sandbox_host *host,
			       const struct sandbox_spec *spec,
			       sandbox_event_fn *on_event, void *arg,
			       struct error *err)
{
	struct sandbox *sandbox = xcalloc(1, ops->size);

	sandbox->ops = ops;
	sandbox->host = host;
	sandbox->on_event = on_event;
	sandbox->arg = arg;
	sandbox->outcome_timer =
		loop_timer_new(host->loop, on_outcome, sandbox);
	sandbox->busy = true;
	if (ops->create(sandbox, spec, err))
		return sandbox;
	free_sandbox(sandbox);
	error_wrap(err, "create sandbox");
	return NULL;
}

static bool begin(struct sandbox *sandbox, struct error *err)
{
	if (sandbox->busy)
		return error_set(err, ERROR_SYSTEM, "the sandbox is busy");
	sandbox->busy = true;
	return true;
}

static bool started(struct sandbox *sandbox, bool ok)
{
	sandbox->busy = ok;
	return ok;
}

bool sandbox_write_file(struct sandbox *sandbox, const char *path,
			struct span bytes, bool executable, struct error *err)
{
	return begin(sandbox, err) &&
	       started(sandbox, sandbox->ops->write_file(sandbox, path, bytes,
							 executable, err));
}

bool sandbox_fresh_dir(struct sandbox *sandbox, const char *path,
		       struct error *err)
{
	return begin(sandbox, err) &&
	       started(sandbox, sandbox->ops->fresh_dir(sandbox, path, err));
}

bool sandbox_remove(struct sandbox *sandbox, const char *path,
		    struct error *err)
{
	return begin(sandbox, err) &&
	       started(sandbox, sandbox->ops->remove(sandbox, path, err));
}

bool sandbox_read_file(struct sandbox *sandbox, const char *path, size_t limit,
		       struct error *err)
{
	return begin(sandbox, err) &&
	       started(sandbox, sandbox->ops->read_file(sandbox, path, limit,
							false, err));
}

bool sandbox_read_ends(struct sandbox *sandbox, const char *path, size_t limit,
		       struct error *err)
{
	return begin(sandbox, err) &&
	       started(sandbox, sandbox->ops->read_file(sandbox, path, limit,
							true, err));
}

struct job *sandbox_start_job(struct sandbox *sandbox,
			      const struct job_spec *spec, struct error *err)
{
	return sandbox->ops->start_job(sandbox, spec, err);
}

void sandbox_kill_job(struct sandbox *sandbox, struct job *job)
{
	sandbox->ops->kill_job(sandbox, job);
}

bool sandbox_purge(struct sandbox *sandbox, struct error *err)
{
	return begin(sandbox, err) &&
	       started(sandbox, sandbox->ops->purge(sandbox, err));
}

bool sandbox_start_proxy(struct sandbox *sandbox, const struct proxy_spec *spec,
			 struct error *err)
{
	return sandbox->ops->start_proxy(sandbox, spec, err);
}

void sandbox_stop_proxy(struct sandbox *sandbox)
{
	sandbox->ops->stop_proxy(sandbox);
}

void sandbox_destroy(struct sandbox *sandbox)
{
	loop_timer_stop(sandbox->outcome_timer);
	sandbox->busy = true;
	sandbox->ops->destroy(sandbox);
}
