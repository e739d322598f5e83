/*
 * Holding a bubblewrap open and entering it.
 *
 * The first process inside is a bash that reads a pipe of ours for ever: as
 * pid 1 it reaps orphans and nobody inside can kill it.  Its end, by a SIGKILL
 * from outside, is the end of everything in its pid namespace; that its pidfd
 * became readable proves it: the kernel lets a namespace's init go last.
 *
 * bubblewrap makes two nested user namespaces (the outer one owns the mounts).
 * nsenter(1) cannot walk through both, so the walk is done here.
 *
 * When octap is root: an unprivileged uid may be unable to reach what is to be
 * mounted (say, below /root).  So root, in a mount namespace that ends with
 * this bubblewrap, first binds the folders to /tmp/0, /tmp/1 ... on a tmpfs,
 * and only then becomes the unprivileged uid.
 */
#include "controller/sandbox/bwrap_view.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "controller/sandbox/bwrap_args.h"
#include "controller/sandbox/sandbox.h"
#include "shared/buf.h"
#include "shared/file.h"
#include "shared/loop.h"
#include "shared/mem.h"

#define BWRAP      "/usr/bin/bwrap"
#define INSIDE_ID  1000u
#define TEXT_LIMIT (64u << 10)

#define HOLDER "trap '' 1 2 3 10 12 13 14 15; echo; while read -r _; do :; done"

static const char passwd_text[] =
	"root:x:0:0:root:/root:/usr/sbin/nologin\n"
	"user:x:1000:1000:user:" SANDBOX_HOME ":/bin/bash\n"
	"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";

static const char group_text[] = "root:x:0:\n"
				 "user:x:1000:\n"
				 "nogroup:x:65534:\n";

/* The namespaces, to be entered in this order. */
enum {
	NS_OUTER_USER,
	NS_MNT,
	NS_IPC,
	NS_UTS,
	NS_PID,
	NS_INNER_USER,
	NS_COUNT,
};

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

struct prepare_bwrap {
	uid_t uid;
	const char *binds[BWRAP_BIND_COUNT]; /* NULL: none */
};

static bool bind_source(int source, const char *target)
{
	char from[32];
	struct stat status;

	if (fstat(source, &status) < 0)
		return false;
	if (S_ISDIR(status.st_mode)) {
		if (mkdir(target, 0755) < 0)
			return false;
	} else if (mknod(target, S_IFREG | 0755, 0) < 0) {
		return false;
	}
	snprintf(from, sizeof(from), "/proc/self/fd/%d", source);
	return mount(from, target, NULL, MS_BIND, NULL) == 0;
}

static bool bind_all(const struct prepare_bwrap *p)
{
	int sources[BWRAP_BIND_COUNT];

	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return false;
	/* Opened before the tmpfs hides what lies in /tmp. */
	for (int i = 0; i < BWRAP_BIND_COUNT; i++) {
		if (!p->binds[i])
			continue;
		sources[i] = open(p->binds[i], O_PATH | O_CLOEXEC);
		if (sources[i] < 0)
			return false;
	}
	if (mount("octap", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV,
		  "mode=755,size=64k") < 0)
		return false;
	for (int i = 0; i < BWRAP_BIND_COUNT; i++) {
		char target[] = "/tmp/0";

		target[5] = (char)('0' + i);
		if (p->binds[i] && !bind_source(sources[i], target))
			return false;
	}
	return true;
}

static void leave_keyring(void)
{
	syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
}

static bool prepare_bwrap(const void *arg)
{
	const struct prepare_bwrap *p = arg;
	gid_t gid = (gid_t)p->uid;

	leave_keyring();
	if (p->uid == (uid_t)-1)
		return true;
	return bind_all(p) && setgroups(0, NULL) == 0 &&
	       setresgid(gid, gid, gid) == 0 &&
	       setresuid(p->uid, p->uid, p->uid) == 0;
}

struct prepare_entry {
	const int *ns_fds;
	bool change_user;
	const char *cwd;
};

static bool drop_privileges(bool change_user)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return false;
	if (change_user && (setresgid(INSIDE_ID, INSIDE_ID, INSIDE_ID) < 0 ||
			    setresuid(INSIDE_ID, INSIDE_ID, INSIDE_ID) < 0))
		return false;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       syscall(SYS_capset, &header, none) == 0;
}

static bool same_namespace(int a, int b)
{
	struct stat sa, sb;

	return fstat(a, &sa) == 0 && fstat(b, &sb) == 0 &&
	       sa.st_ino == sb.st_ino;
}

static bool prepare_entry(const void *arg)
{
	const struct prepare_entry *p = arg;

	leave_keyring();
	if (p->change_user && setgroups(0, NULL) < 0)
		return false;
	for (int i = 0; i < NS_COUNT; i++) {
		if (i == NS_INNER_USER &&
		    same_namespace(p->ns_fds[i], p->ns_fds[NS_OUTER_USER]))
			continue;
		if (setns(p->ns_fds[i], 0) < 0)
			return false;
	}
	return drop_privileges(p->change_user) && chdir(p->cwd) == 0;
}

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
	const struct prepare_bwrap prepare = {
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
		.prepare = prepare_bwrap,
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
	const struct prepare_entry prepare = {
		.ns_fds = view->ns_fds,
		.change_user = view->uid != (uid_t)-1,
		.cwd = cwd,
	};
	const struct process_spec spec = {
		.argv = argv,
		.env = env,
		.capture_output = true,
		.prepare = prepare_entry,
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
