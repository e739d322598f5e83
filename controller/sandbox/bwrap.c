/*
 * The local backend: a bubblewrap view on a temporary folder, octap-proxy
 * beside it.  Run by root, each sandbox first gets an unprivileged uid of its
 * own, and its proxy another.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/process.h"
#include "controller/sandbox/bwrap_args.h"
#include "controller/sandbox/bwrap_view.h"
#include "controller/sandbox/local_proxy.h"
#include "controller/sandbox/sandbox.h"
#include "controller/sandbox/scratch.h"
#include "controller/sandbox/uid_lease.h"
#include "shared/buf.h"
#include "shared/limits.h"
#include "shared/loop.h"
#include "shared/mem.h"

#define NO_UID ((uid_t)-1)

/* What the view's next callback means. */
enum bwrap_state {
	BWRAP_OPENING, /* the first view */
	BWRAP_OPEN,
	BWRAP_PURGING,    /* the old view is being killed */
	BWRAP_REOPENING,  /* the view after a purge */
	BWRAP_DESTROYING, /* the last view is being killed */
};

struct job {
	struct bwrap_sandbox *sandbox;
	struct job *next, **link; /* in sandbox->jobs */
	struct process *process;
};

struct bwrap_sandbox {
	struct sandbox base;
	enum bwrap_state state;
	struct uid_lease lease;
	struct scratch scratch;
	char *agent_binary;
	struct bwrap_view *view;
	struct job *jobs;
	struct local_proxy *proxy;
	struct buf content; /* of the last file read */
};

static struct bwrap_sandbox *bwrap_of(struct sandbox *sandbox)
{
	return CONTAINER_OF(sandbox, struct bwrap_sandbox, base);
}

static bool open_view(struct bwrap_sandbox *b, struct error *err);

static void finish_destroy(struct bwrap_sandbox *b)
{
	local_proxy_free(b->proxy);
	scratch_remove(&b->scratch);
	uid_lease_return(&b->lease);
	buf_release(&b->content);
	free(b->agent_binary);
	sandbox_emit(&b->base, &(struct sandbox_event){ .type = SANDBOX_GONE });
}

static void on_view_ready(void *arg)
{
	struct bwrap_sandbox *b = arg;
	bool purged = b->state == BWRAP_REOPENING;

	b->state = BWRAP_OPEN;
	sandbox_report(&b->base,
		       (struct sandbox_event){
			       .type = purged ? SANDBOX_PURGED : SANDBOX_READY,
		       });
}

static void free_view(void *view)
{
	bwrap_view_free(view);
}

static void on_view_closed(const struct error *err, void *arg)
{
	struct bwrap_sandbox *b = arg;
	struct error own;

	loop_defer_free(b->base.host->loop, free_view, b->view);
	b->view = NULL;
	switch (b->state) {
	case BWRAP_OPENING:
	case BWRAP_REOPENING:
		b->state = BWRAP_OPEN;
		sandbox_report_failure(&b->base, err);
		break;
	case BWRAP_OPEN:
		break; /* whoever uses it next will see */
	case BWRAP_PURGING:
		b->state = BWRAP_REOPENING;
		if (!open_view(b, &own))
			sandbox_report_failure(&b->base, &own);
		break;
	case BWRAP_DESTROYING:
		finish_destroy(b);
		break;
	}
}

static bool open_view(struct bwrap_sandbox *b, struct error *err)
{
	static const struct bwrap_view_handler handler = { on_view_ready,
							   on_view_closed };
	const struct bwrap_view_spec spec = {
		.home = b->scratch.home_path,
		.tmp = b->scratch.tmp_path,
		.agent_binary = b->agent_binary,
		.uid = b->lease.sandbox_uid,
	};

	b->view = bwrap_view_open(b->base.host->loop, &spec, &handler, b, err);
	return b->view != NULL;
}

static bool bwrap_create(struct sandbox *sandbox,
			 const struct sandbox_spec *spec, struct error *err)
{
	struct bwrap_sandbox *b = bwrap_of(sandbox);
	struct sandbox_host *host = sandbox->host;

	if (!host->swept)
		scratch_sweep(host->state_dir);
	host->swept = true;
	b->state = BWRAP_OPENING;
	b->lease = (struct uid_lease){ NO_UID, NO_UID, -1 };
	buf_init(&b->content, LIMIT_AGENT_LOG);
	if (geteuid() == 0 && !uid_lease_take(&b->lease, err))
		return false;
	if (!scratch_make(&b->scratch, host->state_dir, spec->id,
			  b->lease.sandbox_uid, err)) {
		uid_lease_return(&b->lease);
		return false;
	}
	b->agent_binary =
		spec->agent_binary ? xstrdup(spec->agent_binary) : NULL;
	if (open_view(b, err))
		return true;
	scratch_remove(&b->scratch);
	uid_lease_return(&b->lease);
	free(b->agent_binary);
	return false;
}

static bool bwrap_purge(struct sandbox *sandbox, struct error *err)
{
	struct bwrap_sandbox *b = bwrap_of(sandbox);

	if (!b->view) {
		b->state = BWRAP_REOPENING;
		return open_view(b, err);
	}
	b->state = BWRAP_PURGING;
	bwrap_view_kill(b->view);
	return true;
}

static void free_job(void *arg)
{
	struct job *job = arg;

	process_free(job->process);
	free(job);
}

static void unlink_job(struct job *job)
{
	*job->link = job->next;
	if (job->next)
		job->next->link = job->link;
}

static void on_job_output(struct process *process UNUSED, bool is_stderr,
			  struct span bytes, void *arg)
{
	struct job *job = arg;

	sandbox_emit(&job->sandbox->base, &(struct sandbox_event){
						  .type = SANDBOX_JOB_OUTPUT,
						  .job = job,
						  .bytes = bytes,
						  .is_stderr = is_stderr,
					  });
}

static void on_job_exit(struct process *process UNUSED, int exit_code,
			void *arg)
{
	struct job *job = arg;
	struct sandbox *sandbox = &job->sandbox->base;

	unlink_job(job);
	loop_defer_free(sandbox->host->loop, free_job, job);
	sandbox_emit(sandbox, &(struct sandbox_event){
				      .type = SANDBOX_JOB_EXIT,
				      .job = job,
				      .exit_code = exit_code,
			      });
}

static struct job *bwrap_start_job(struct sandbox *sandbox,
				   const struct job_spec *spec,
				   struct error *err)
{
	static const struct process_handler handler = { on_job_output,
							on_job_exit };
	const char *const argv[] = { "/bin/bash", "-c", spec->command, NULL };
	struct bwrap_sandbox *b = bwrap_of(sandbox);
	struct job *job;

	if (!b->view) {
		error_set(err, ERROR_SYSTEM, "the sandbox died");
		return NULL;
	}
	job = xcalloc(1, sizeof(*job));
	job->process = bwrap_view_start(b->view, argv, spec->env, spec->cwd,
					&handler, job, err);
	if (!job->process) {
		free(job);
		return NULL;
	}
	job->sandbox = b;
	job->next = b->jobs;
	job->link = &b->jobs;
	if (job->next)
		job->next->link = &job->next;
	b->jobs = job;
	return job;
}

static void bwrap_kill_job(struct sandbox *sandbox UNUSED, struct job *job)
{
	process_signal_group(job->process, SIGKILL);
}

static bool report_written(struct sandbox *sandbox)
{
	sandbox_report(sandbox,
		       (struct sandbox_event){ .type = SANDBOX_WRITTEN });
	return true;
}

static bool bwrap_write_file(struct sandbox *sandbox, const char *path,
			     struct span bytes, bool executable,
			     struct error *err)
{
	const struct folder *folder;
	const char *rest;

	return scratch_locate(&bwrap_of(sandbox)->scratch, path, &folder, &rest,
			      err) &&
	       folder_write(folder, rest, bytes, executable ? 0755 : 0644,
			    err) &&
	       report_written(sandbox);
}

static bool bwrap_fresh_dir(struct sandbox *sandbox, const char *path,
			    struct error *err)
{
	const struct folder *folder;
	const char *rest;

	return scratch_locate(&bwrap_of(sandbox)->scratch, path, &folder, &rest,
			      err) &&
	       folder_make_afresh(folder, rest, 0755, err) &&
	       report_written(sandbox);
}

static bool bwrap_remove(struct sandbox *sandbox, const char *path,
			 struct error *err)
{
	const struct folder *folder;
	const char *rest;

	return scratch_locate(&bwrap_of(sandbox)->scratch, path, &folder, &rest,
			      err) &&
	       folder_clear(folder, rest, err) && report_written(sandbox);
}

static bool bwrap_read_file(struct sandbox *sandbox, const char *path,
			    size_t limit, bool ends, struct error *err)
{
	struct bwrap_sandbox *b = bwrap_of(sandbox);
	const struct folder *folder;
	struct error failure;
	uint64_t skipped = 0;
	const char *rest;

	if (!scratch_locate(&b->scratch, path, &folder, &rest, err))
		return false;
	buf_release(&b->content);
	buf_init(&b->content, limit + 1);
	if (ends ? folder_read_ends(folder, rest, limit, &b->content, &skipped,
				    &failure)
		 : folder_read(folder, rest, &b->content, &failure))
		sandbox_report(sandbox, (struct sandbox_event){
						.type = SANDBOX_CONTENT,
						.bytes = buf_span(&b->content),
						.skipped = skipped,
					});
	else
		sandbox_report_failure(sandbox, &failure);
	return true;
}

static void on_proxy_ready(unsigned port, void *arg)
{
	struct bwrap_sandbox *b = arg;

	sandbox_emit(&b->base, &(struct sandbox_event){
				       .type = SANDBOX_PROXY_READY,
				       .port = port,
			       });
}

static void free_proxy(void *proxy)
{
	local_proxy_free(proxy);
}

static void on_proxy_exit(int exit_code, struct span last_line, void *arg)
{
	struct bwrap_sandbox *b = arg;

	loop_defer_free(b->base.host->loop, free_proxy, b->proxy);
	b->proxy = NULL;
	sandbox_emit(&b->base, &(struct sandbox_event){
				       .type = SANDBOX_PROXY_EXIT,
				       .exit_code = exit_code,
				       .bytes = last_line,
			       });
}

static bool bwrap_start_proxy(struct sandbox *sandbox,
			      const struct proxy_spec *spec, struct error *err)
{
	static const struct local_proxy_handler handler = { on_proxy_ready,
							    on_proxy_exit };
	struct bwrap_sandbox *b = bwrap_of(sandbox);

	b->proxy = local_proxy_start(sandbox->host, spec, b->lease.proxy_uid,
				     &handler, b, err);
	return b->proxy != NULL;
}

static void bwrap_stop_proxy(struct sandbox *sandbox)
{
	struct bwrap_sandbox *b = bwrap_of(sandbox);

	if (b->proxy)
		local_proxy_stop(b->proxy);
}

static void destroy_later(void *arg)
{
	finish_destroy(arg);
}

static void bwrap_destroy(struct sandbox *sandbox)
{
	struct bwrap_sandbox *b = bwrap_of(sandbox);

	b->state = BWRAP_DESTROYING;
	for (struct job *job = b->jobs, *next; job; job = next) {
		next = job->next;
		free_job(job);
	}
	b->jobs = NULL;
	if (b->view)
		bwrap_view_kill(b->view);
	else
		loop_defer_free(sandbox->host->loop, destroy_later, b);
}

const struct sandbox_ops sandbox_bwrap = {
	.name = "bwrap",
	.size = sizeof(struct bwrap_sandbox),
	.shows = bwrap_args_shows,
	.create = bwrap_create,
	.write_file = bwrap_write_file,
	.fresh_dir = bwrap_fresh_dir,
	.remove = bwrap_remove,
	.read_file = bwrap_read_file,
	.start_job = bwrap_start_job,
	.kill_job = bwrap_kill_job,
	.purge = bwrap_purge,
	.start_proxy = bwrap_start_proxy,
	.stop_proxy = bwrap_stop_proxy,
	.destroy = bwrap_destroy,
};
