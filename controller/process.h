#ifndef CONTROLLER_PROCESS_H
#define CONTROLLER_PROCESS_H

#include <sys/types.h>

#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * A child process under the loop.
 *
 * It is over when the process itself has ended: what it wrote before is then
 * delivered, but nobody waits for a background child that keeps the pipe open.
 * Every child gets SIGKILL (or what its spec says) when octap dies.
 */
struct process;
struct loop;

/* For a child that sees to its end itself. */
#define PROCESS_NO_DEATH_SIGNAL (-1)

/* A descriptor for the child: `from` is ours, `to` its number there. */
struct process_fd {
	int from;
	int to;
};

struct process_spec {
	const char *const *argv; /* argv[0] is the path, without a search */
	const char *const *env;  /* NULL-terminated */
	const struct process_fd *fds;
	size_t fd_count;
	bool capture_output; /* else stdout and stderr go to /dev/null, unless
				`fds` says otherwise */
	bool stdin_pipe;     /* the child reads a pipe that stays open as long
				as octap and the struct process live */
	int death_signal;    /* when octap dies; 0: SIGKILL */

	/*
	 * Called in the child, after the fork and before the descriptors are
	 * put in place; may only make system calls.  False ends the child;
	 * errno then says why.
	 */
	bool (*prepare)(const void *arg);
	const void *prepare_arg;

	/*
	 * Fork once more after `prepare`, which joined a pid namespace: only
	 * children enter it.  The process is then that child.
	 */
	bool fork_again;
};

struct process_handler {
	void (*on_output)(struct process *process, bool is_stderr,
			  struct span bytes, void *arg);

	/* The last callback.  The exit code, or 128 + the signal's number. */
	void (*on_exit)(struct process *process, int exit_code, void *arg);
};

struct process *process_start(struct loop *loop,
			      const struct process_spec *spec,
			      const struct process_handler *handler, void *arg,
			      struct error *err);

pid_t process_pid(const struct process *process);

/* To the process, and to its whole process group. */
void process_signal(struct process *process, int signal_number);
void process_signal_group(struct process *process, int signal_number);

/*
 * After on_exit; or before, then it is killed first and no callback comes.
 * NULL is fine.
 */
void process_free(struct process *process);

#endif
