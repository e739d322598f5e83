#ifndef CONTROLLER_CONTROLLER_H
#define CONTROLLER_CONTROLLER_H

#include "controller/sandbox/sandbox.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/loop.h"

/*
 * What every command of octap that runs rollouts needs: the loop, what backends
 * need of the host, and the two ways to stop.
 *
 * SIGINT, SIGTERM or SIGHUP calls on_stop once; a second one ends the process
 * at once with exit code 130, after on_abandon.  One that was ignored when
 * octap started, as nohup(1) does it with SIGHUP, stays ignored.
 */
typedef void controller_stop_fn(void *arg);

struct controller {
	struct loop *loop;
	struct sandbox_host host;
	char *proxy_path, *state_dir;
	controller_stop_fn *on_stop, *on_abandon;
	void *arg;
	bool stopping;
};

bool controller_init(struct controller *controller, controller_stop_fn *on_stop,
		     controller_stop_fn *on_abandon, void *arg,
		     struct error *err) MUST_USE;
void controller_release(struct controller *controller);

/*
 * A program that is installed or built beside octap: NAME in the folder of our
 * own executable, else in PATH; NULL: nowhere.  The caller frees it.
 */
char *controller_find_program(const char *name);

/* As loop_on_signal(), but a signal that is ignored stays so. */
bool controller_on_signal(struct loop *loop, int number, loop_signal_fn *fn,
			  void *arg, struct error *err) MUST_USE;

/*
 * Descriptors 0 to 2 are open, core files and other people's looks are not.  To
 * a standard output that was closed nothing can be written.
 */
void controller_harden(void);

#endif
