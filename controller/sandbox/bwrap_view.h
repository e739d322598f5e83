#ifndef CONTROLLER_SANDBOX_BWRAP_VIEW_H
#define CONTROLLER_SANDBOX_BWRAP_VIEW_H

#include <sys/types.h>

#include "controller/process.h"
#include "shared/compiler.h"
#include "shared/error.h"

/*
 * One bubblewrap, held open: a view of the machine with its own user, pid, ipc,
 * uts and mount namespaces in which jobs are started until it is closed.
 *
 * Inside, the first process is a bash that only waits; jobs enter from outside,
 * as nsenter(1) does, and are children of octap.  No job holds a capability or
 * can gain one, or may look into the first process.  The whole view dies with
 * octap.
 *
 * What is seen: the system's /usr and what belongs to it, read-only; of /etc a
 * short list; an empty /run; fresh /proc and /dev; and the two folders, as
 * /home/user and /tmp.
 */
struct bwrap_view;
struct loop;

struct bwrap_view_spec {
	const char *home;         /* on the host; seen as SANDBOX_HOME */
	const char *tmp;          /* on the host; seen as SANDBOX_TMP */
	const char *agent_binary; /* on the host; seen as SANDBOX_AGENT_PATH;
				     NULL: none */
	uid_t uid;                /* to become first; (uid_t)-1: stay */
};

struct bwrap_view_handler {
	/* Jobs may be started. */
	void (*on_ready)(void *arg);

	/* Everything in it is dead: after bwrap_view_kill(), or because it
	 * could not start, then `err` says why.  The last callback. */
	void (*on_closed)(const struct error *err, void *arg);
};

struct bwrap_view *bwrap_view_open(struct loop *loop,
				   const struct bwrap_view_spec *spec,
				   const struct bwrap_view_handler *handler,
				   void *arg, struct error *err);

/* Start a command in it; the process reports to `handler`. */
struct process *bwrap_view_start(struct bwrap_view *view,
				 const char *const *argv,
				 const char *const *env, const char *cwd,
				 const struct process_handler *handler,
				 void *arg, struct error *err);

/* Kill everything in it; on_closed follows. */
void bwrap_view_kill(struct bwrap_view *view);

/* After on_closed, or before: then it is killed without a callback. */
void bwrap_view_free(struct bwrap_view *view);

#endif
