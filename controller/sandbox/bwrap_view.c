/*
 * Holding a bubblewrap open.
 *
 * The first process inside is a bash that reads a pipe of ours for ever: as
 * pid 1 it reaps orphans and nobody inside can kill it.  Its end, by a SIGKILL
 * from outside, is the end of everything in its pid namespace; that its pidfd
 * became readable proves it: the kernel lets a namespace's init go last.
 */
#include "controller/sandbox/bwrap_view.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "controller/sandbox/bwrap_args.h"
#include "controller/sandbox/bwrap_prepare.h"
#include "controller/sandbox/sandbox.h"
#include "shared/buf.h"
#include "shared/file.h"
#include "shared/loop.h"
#include "shared/mem.h"

#define BWRAP      "/usr/bin/bwrap"
#define TEXT_LIMIT (64u << 10)

#define HOLDER "trap '' 1 2 3 10 12 13 14 15; echo; while read -r _; do :; done"

static const char passwd_text[] =
	"root:x:0:0:root:/root:/usr/sbin/nologin\n"
	"user:x:1000:1000:user:" SANDBOX_HOME ":/bin/bash\n"
	"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";

static const char group_text[] = "root:x:0:\n"
				 "user:x:1000:\n"
				 "nogroup:x:65534:\n";

struct bwrap_view {
	struct loop *loop;
	struct bwrap_view_handler handler;
	void *arg;
	uid_t uid;
	struct process *holder; /* the outer bwrap */
	int info_fd;
	int init_fd; /* pidfd of the first process inside; -1: not yet */
	int ns_fds[NS_COUNT];
	struct loop_watch *init_watch;
	struct buf complaints; /* bubblewrap's stderr */
	bool ready;
	bool killed; /* or to be, once it is ready */
};

static int data_fd(struct span bytes)
{
	int fd = memfd_create("octap", MFD_CLOEXEC);

	if (fd >= 0 &&
	    (!file_write_fd(fd, bytes) || lseek(fd, 0, SEEK_SET) < 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void complain(const struct bwrap_view *view, struct error *err)
{
	struct span text = span_trim(buf_span(&view->complaints));
	int len = text.len > 120 ? 120 : (int)text.len;

	if (span_contains(text, strerror(EMFILE))) {
		error_set(err, ERROR_SYSTEM,
			  "bubblewrap could not start (%.*s): raise the limit "
			  "of open files (ulimit -n)",
			  len, text.data);
		return;
	}
	error_set(err, ERROR_SYSTEM,
		  "bubblewrap could not start (%.*s): user namespaces must be "
		  "allowed (sysctl kernel.unprivileged_userns_clone=1)",
		  len, text.data);
}

static void view_closed(struct bwrap_view *view)
{
	struct error err;

	if (!view->ready) {
		complain(view, &err);
		view->handler.on_closed(&err, view->arg);
		return;
	}
	view->ready = false;
	view->handler.on_closed(NULL, view->arg);
}

static void on_init_gone(int fd UNUSED, void *arg)
{
	struct bwrap_view *view = arg;

	loop_watch_free(view->init_watch);
	view->init_watch = NULL;
	view_closed(view);
}

static void on_holder_exit(struct process *process UNUSED, int exit_code UNUSED,
			   void *arg)
{
	struct bwrap_view *view = arg;

	if (view->init_fd < 0)
		view_closed(view);
	else
		view->init_watch = loop_watch_readable(
			view->loop, view->init_fd, on_init_gone, view);
}

/* {"child-pid": N, ...}, written at once before the holder runs. */
static pid_t read_init_pid(int fd)
{
	char text[1024];
	ssize_t len = pread(fd, text, sizeof(text), 0);
	cJSON *json, *item;
	pid_t pid = -1;

	if (len <= 0)
		return -1;
	json = cJSON_ParseWithLength(text, (size_t)len);
	item = cJSON_GetObjectItemCaseSensitive(json, "child-pid");
	if (cJSON_IsNumber(item))
		pid = item->valueint;
	cJSON_Delete(json);
	return pid;
}

static int open_namespace(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static bool open_namespaces(struct bwrap_view *view, struct error *err)
{
	static const char *const names[NS_COUNT] = {
		[NS_MNT] = "mnt", [NS_IPC] = "ipc",         [NS_UTS] = "uts",
		[NS_PID] = "pid", [NS_INNER_USER] = "user",
	};
	pid_t pid = read_init_pid(view->info_fd);

	if (pid <= 0)
		return error_set(err, ERROR_SYSTEM,
				 "bubblewrap did not name its child");
	view->init_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (view->init_fd < 0)
		return error_set_errno(err, errno, "pidfd_open");
	for (int i = NS_MNT; i < NS_COUNT; i++) {
		view->ns_fds[i] = open_namespace(pid, names[i]);
		if (view->ns_fds[i] < 0)
			return error_set_errno(
				err, errno, "open the %s namespace", names[i]);
	}
	view->ns_fds[NS_OUTER_USER] =
		ioctl(view->ns_fds[NS_MNT], NS_GET_USERNS);
	if (view->ns_fds[NS_OUTER_USER] < 0)
		return error_set_errno(err, errno, "NS_GET_USERNS");
	return true;
}

static void on_holder_output(struct process *process, bool is_stderr,
			     struct span bytes, void *arg)
{
	struct bwrap_view *view = arg;
	struct error err;

	if (is_stderr || view->ready) {
		if (!buf_add(&view->complaints, bytes, &err))
			buf_clear(&view->complaints);
		return;
	}
	if (!open_namespaces(view, &err)) {
		if (!buf_add(&view->complaints, span_of(err.text), &err))
			buf_clear(&view->complaints);
		process_signal(process, SIGKILL);
		return;
	}
	view->ready = true;
	if (view->killed)
		bwrap_view_kill(view);
	else
		view->handler.on_ready(view->arg);
}

static struct bwrap_view *view_new(struct loop *loop,
				   const struct bwrap_view_handler *handler,
				   void *arg, uid_t uid)
{
	struct bwrap_view *view = xcalloc(1, sizeof(*view));

	view->loop = loop;
	view->handler = *handler;
	view->arg = arg;
	view->uid = uid;
	view->info_fd = view->init_fd = -1;
	for (int i = 0; i < NS_COUNT; i++)
		view->ns_fds[i] = -1;
	buf_init(&view->complaints, TEXT_LIMIT);
	return view;
}

static bool start_holder(struct bwrap_view *view,
			 const struct bwrap_view_spec *spec, struct buf *args,
			 struct error *err)
{
	static const char *const argv[] = {
		BWRAP,       "--args", "3",  "--info-fd", "4",
		"/bin/bash", "--norc", "-c", HOLDER,      NULL,
	};
	static const char *const env[] = { NULL };
	static const struct process_handler handler = { on_holder_output,
							on_holder_exit };
	const struct bwrap_prepare_holder prepare = {
		.uid = spec->uid,
		.binds = { spec->home, spec->tmp, spec->agent_binary },
	};
	struct process_fd fds[] = {
		{ data_fd(buf_span(args)), BWRAP_FD_ARGS },
		{ dup(view->info_fd), BWRAP_FD_INFO },
		{ data_fd(SPAN(passwd_text)), BWRAP_FD_PASSWD },
		{ data_fd(SPAN(group_text)), BWRAP_FD_GROUP },
	};
	const struct process_spec process = {
		.argv = argv,
		.env = env,
		.fds = fds,
		.fd_count = ARRAY_LEN(fds),
		.capture_output = true,
		.stdin_pipe = true,
		/* See bwrap_view_kill(): --die-with-parent and the end of the
		 * holder's stdin end it as soon as that is safe. */
		.death_signal = PROCESS_NO_DEATH_SIGNAL,
		.prepare = bwrap_prepare_holder,
		.prepare_arg = &prepare,
	};

	view->holder = process_start(view->loop, &process, &handler, view, err);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		if (fds[i].from >= 0)
			close(fds[i].from);
	return view->holder != NULL;
}

struct bwrap_view *bwrap_view_open(struct loop *loop,
				   const struct bwrap_view_spec *spec,
				   const struct bwrap_view_handler *handler,
				   void *arg, struct error *err)
{
	const char *const binds[] = { spec->home, spec->tmp,
				      spec->agent_binary };
	struct bwrap_view *view;
	struct buf args;
	bool ok;

	if (access(BWRAP, X_OK) < 0) {
		error_set(err, ERROR_USAGE,
			  BWRAP " is missing: install the package bubblewrap");
		return NULL;
	}
	view = view_new(loop, handler, arg, spec->uid);
	/* No pipe: that would break when octap dies, and bubblewrap with it,
	 * see bwrap_view_kill(). */
	view->info_fd = memfd_create("octap", MFD_CLOEXEC);
	buf_init(&args, TEXT_LIMIT);
	bwrap_args_build(&args, binds, spec->uid != (uid_t)-1);
	ok = start_holder(view, spec, &args, err);
	buf_release(&args);
	if (ok)
		return view;
	bwrap_view_free(view);
	return NULL;
}

struct process *bwrap_view_start(struct bwrap_view *view,
				 const char *const *argv,
				 const char *const *env, const char *cwd,
				 const struct process_handler *handler,
				 void *arg, struct error *err)
{
	const struct bwrap_prepare_job prepare = {
		.ns_fds = view->ns_fds,
		.change_user = view->uid != (uid_t)-1,
		.cwd = cwd,
	};
	const struct process_spec spec = {
		.argv = argv,
		.env = env,
		.capture_output = true,
		.prepare = bwrap_prepare_job,
		.prepare_arg = &prepare,
		.fork_again = true,
	};

	return process_start(view->loop, &spec, handler, arg, err);
}

/*
 * While bubblewrap starts it is left alone: killed between two certain steps,
 * it would leave a child that waits for it for ever.
 */
void bwrap_view_kill(struct bwrap_view *view)
{
	view->killed = true;
	if (view->init_fd >= 0)
		syscall(SYS_pidfd_send_signal, view->init_fd, SIGKILL, NULL, 0);
}

void bwrap_view_free(struct bwrap_view *view)
{
	if (!view)
		return;
	if (view->holder)
		bwrap_view_kill(view);
	process_free(view->holder);
	loop_watch_free(view->init_watch);
	if (view->info_fd >= 0)
		close(view->info_fd);
	if (view->init_fd >= 0)
		close(view->init_fd);
	for (int i = 0; i < NS_COUNT; i++)
		if (view->ns_fds[i] >= 0)
			close(view->ns_fds[i]);
	buf_release(&view->complaints);
	free(view);
}
