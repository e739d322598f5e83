/*
 * Children: fork, pipes, and a pidfd that becomes readable at the end.
 */
#include "controller/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/loop.h"
#include "shared/mem.h"

#define FIRST_FREE_FD 100        /* the child's own descriptors lie below */
#define PIPE_MAXIMUM  (1u << 20) /* Linux lets nobody have a larger one */

struct process {
	struct process_handler handler;
	void *arg;
	pid_t pid;
	int pid_fd;
	int stdin_fd;      /* kept open; -1: none */
	int output_fds[2]; /* stdout, stderr; -1: closed or none */
	struct loop_watch *exit_watch;
	struct loop_watch *output_watches[2];
	bool ended;
};

static void close_output(struct process *p, int which)
{
	loop_watch_free(p->output_watches[which]);
	p->output_watches[which] = NULL;
	if (p->output_fds[which] >= 0)
		close(p->output_fds[which]);
	p->output_fds[which] = -1;
}

/* Read once, at most `most` bytes; 0 when there is nothing to read now. */
static size_t read_output(struct process *p, int which, size_t most)
{
	char chunk[16384];
	ssize_t got;

	if (most > sizeof(chunk))
		most = sizeof(chunk);
	do
		got = read(p->output_fds[which], chunk, most);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return 0;
	if (got == 0) {
		close_output(p, which);
		return 0;
	}
	if (p->handler.on_output)
		p->handler.on_output(p, which == 1,
				     span_from(chunk, (size_t)got), p->arg);
	return (size_t)got;
}

static void on_output_ready(int fd, void *arg)
{
	struct process *p = arg;

	read_output(p, fd == p->output_fds[1], SIZE_MAX);
}

/*
 * What the process wrote before it ended is in the pipes.  No more than a pipe
 * can hold is read: a child that it left may go on writing for ever.
 */
static void drain_outputs(struct process *p)
{
	for (int i = 0; i < 2; i++) {
		size_t left = PIPE_MAXIMUM, got = 1;

		while (p->output_fds[i] >= 0 && left && got) {
			got = read_output(p, i, left);
			left -= got;
		}
	}
}

static int exit_code_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

static void on_exit_ready(int fd UNUSED, void *arg)
{
	struct process *p = arg;
	int status;

	if (waitpid(p->pid, &status, WNOHANG) != p->pid)
		return;
	p->ended = true;
	loop_watch_free(p->exit_watch);
	p->exit_watch = NULL;
	drain_outputs(p);
	p->handler.on_exit(p, exit_code_of(status), p->arg);
}

pid_t process_pid(const struct process *p)
{
	return p->pid;
}

void process_signal(struct process *p, int signal_number)
{
	if (!p->ended)
		syscall(SYS_pidfd_send_signal, p->pid_fd, signal_number, NULL,
			0);
}

void process_signal_group(struct process *p, int signal_number)
{
	/* Until it is waited for, its number is no other's. */
	if (!p->ended && kill(-p->pid, signal_number) < 0)
		process_signal(p, signal_number);
}

void process_free(struct process *p)
{
	if (!p)
		return;
	if (!p->ended) {
		process_signal(p, SIGKILL);
		waitpid(p->pid, NULL, 0);
	}
	loop_watch_free(p->exit_watch);
	close_output(p, 0);
	close_output(p, 1);
	if (p->stdin_fd >= 0)
		close(p->stdin_fd);
	close(p->pid_fd);
	free(p);
}

/* What the child tells before it executes the program. */
struct child_message {
	int failure; /* errno; 0: none */
	pid_t pid;   /* of the second child; 0: this is no such message */
};

struct child_plan {
	const struct process_spec *spec;
	pid_t parent;
	int stdio[3];
	int message_fd; /* closes by itself on success */
};

static bool tell(const struct child_plan *plan, struct child_message message)
{
	return write(plan->message_fd, &message, sizeof(message)) ==
	       (ssize_t)sizeof(message);
}

static int move_out_of_the_way(int fd)
{
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FREE_FD);

	/* The limit may be so low that no such number exists. */
	if (moved < 0 && errno == EINVAL)
		errno = EMFILE;
	return moved;
}

/*
 * Nothing is handed down that was not meant to be.  Then first everything to
 * numbers that are out of the way, so that no descriptor overwrites another
 * that is still needed.
 */
static bool place_fds(const struct child_plan *plan)
{
	const struct process_spec *spec = plan->spec;
	int from[16];

	if (spec->fd_count > ARRAY_LEN(from)) {
		errno = EINVAL;
		return false;
	}
	if (syscall(SYS_close_range, 3, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		return false;
	for (size_t i = 0; i < spec->fd_count; i++) {
		from[i] = move_out_of_the_way(spec->fds[i].from);
		if (from[i] < 0)
			return false;
	}
	for (int i = 0; i < 3; i++)
		if (dup2(plan->stdio[i], i) < 0)
			return false;
	for (size_t i = 0; i < spec->fd_count; i++)
		if (dup2(from[i], spec->fds[i].to) < 0)
			return false;
	return true;
}

static void reset_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
}

/* The first child ends here, once it has named the second, our sibling. */
static bool fork_sibling(const struct child_plan *plan)
{
	struct child_message message = { 0 };

	message.pid =
		(pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
	if (message.pid > 0)
		_exit(tell(plan, message) ? 0 : 126);
	return message.pid == 0;
}

static bool set_up_child(const struct child_plan *plan)
{
	const struct process_spec *spec = plan->spec;
	int signal_number = spec->death_signal ? spec->death_signal : SIGKILL;

	if ((spec->prepare && !spec->prepare(spec->prepare_arg)) ||
	    (spec->fork_again && !fork_sibling(plan)))
		return false;
	setsid();
	reset_signals();
	if ((signal_number != PROCESS_NO_DEATH_SIGNAL &&
	     prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0) < 0) ||
	    !place_fds(plan))
		return false;
	/* octap may have died before the line above (a parent that is in no
	 * pid namespace of ours shows as 0). */
	if (!spec->fork_again && getppid() != plan->parent)
		_exit(126);
	return true;
}

static NO_RETURN void run_child(struct child_plan *plan)
{
	const struct process_spec *spec = plan->spec;
	int moved = move_out_of_the_way(plan->message_fd);

	if (moved >= 0)
		plan->message_fd = moved;
	if (moved >= 0 && set_up_child(plan))
		execve(spec->argv[0], (char *const *)(uintptr_t)spec->argv,
		       (char *const *)(uintptr_t)spec->env);
	tell(plan, (struct child_message){ .failure = errno });
	_exit(127);
}

struct pipes {
	int in[2], out[2], err[2], message[2];
	int null_fd;
};

#define PIPES_NONE                                                 \
	{                                                          \
		{ -1, -1 }, { -1, -1 }, { -1, -1 }, { -1, -1 }, -1 \
	}

static void close_pair(int fds[2])
{
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static bool open_pipes(struct pipes *pipes, const struct process_spec *spec)
{
	pipes->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	return pipes->null_fd >= 0 && pipe2(pipes->message, O_CLOEXEC) == 0 &&
	       (!spec->stdin_pipe || pipe2(pipes->in, O_CLOEXEC) == 0) &&
	       (!spec->capture_output || (pipe2(pipes->out, O_CLOEXEC) == 0 &&
					  pipe2(pipes->err, O_CLOEXEC) == 0));
}

static int take(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* The child's pid once it runs the program; -1 with errno if it does not. */
static pid_t fork_child(const struct process_spec *spec, struct pipes *pipes)
{
	struct child_plan plan = {
		.spec = spec,
		.parent = getpid(),
		.stdio = { pipes->null_fd, pipes->null_fd, pipes->null_fd },
		.message_fd = pipes->message[1],
	};
	struct child_message message;
	int failure = 0;
	pid_t pid;

	if (spec->stdin_pipe)
		plan.stdio[0] = pipes->in[0];
	if (spec->capture_output) {
		plan.stdio[1] = pipes->out[1];
		plan.stdio[2] = pipes->err[1];
	}
	pid = fork();
	if (pid == 0)
		run_child(&plan);
	if (pid < 0)
		return -1;
	close(take(&pipes->message[1]));
	while (read(pipes->message[0], &message, sizeof(message)) ==
	       (ssize_t)sizeof(message)) {
		if (message.pid) {
			waitpid(pid, NULL, 0);
			pid = message.pid;
		}
		/* The two who tell may come in either order. */
		if (message.failure)
			failure = message.failure;
	}
	if (!failure)
		return pid;
	waitpid(pid, NULL, 0);
	errno = failure;
	return -1;
}

static struct process *process_new(struct loop *loop, pid_t pid,
				   struct pipes *pipes, struct error *err)
{
	int pid_fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct process *p;

	if (pid_fd < 0) {
		error_set_errno(err, errno, "pidfd_open");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return NULL;
	}
	p = xcalloc(1, sizeof(*p));
	p->pid = pid;
	p->pid_fd = pid_fd;
	p->stdin_fd = take(&pipes->in[1]);
	p->output_fds[0] = take(&pipes->out[0]);
	p->output_fds[1] = take(&pipes->err[0]);
	p->exit_watch = loop_watch_readable(loop, pid_fd, on_exit_ready, p);
	for (int i = 0; i < 2; i++) {
		if (p->output_fds[i] < 0)
			continue;
		fcntl(p->output_fds[i], F_SETFL, O_NONBLOCK);
		p->output_watches[i] = loop_watch_readable(
			loop, p->output_fds[i], on_output_ready, p);
	}
	return p;
}

struct process *process_start(struct loop *loop,
			      const struct process_spec *spec,
			      const struct process_handler *handler, void *arg,
			      struct error *err)
{
	struct pipes pipes = PIPES_NONE;
	struct process *p = NULL;
	pid_t pid = -1;

	if (open_pipes(&pipes, spec))
		pid = fork_child(spec, &pipes);
	if (pid < 0 && (errno == EMFILE || errno == ENFILE))
		error_set(err, ERROR_SYSTEM,
			  "start %s: too many open files: raise the limit "
			  "(ulimit -n)",
			  spec->argv[0]);
	else if (pid < 0)
		error_set_errno(err, errno, "start %s", spec->argv[0]);
	else
		p = process_new(loop, pid, &pipes, err);
	if (p) {
		p->handler = *handler;
		p->arg = arg;
	}
	close_pair(pipes.in);
	close_pair(pipes.out);
	close_pair(pipes.err);
	close_pair(pipes.message);
	if (pipes.null_fd >= 0)
		close(pipes.null_fd);
	return p;
}
