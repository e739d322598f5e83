#ifndef CONTROLLER_SANDBOX_BWRAP_PREPARE_H
#define CONTROLLER_SANDBOX_BWRAP_PREPARE_H

#include <stdbool.h>
#include <sys/types.h>

#include "controller/sandbox/bwrap_args.h"

/*
 * What children do between fork and exec, as process.h's `prepare`: one that
 * becomes bubblewrap, and jobs, which enter its namespaces.
 */

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

struct bwrap_prepare_holder {
	uid_t uid;                           /* to become; (uid_t)-1: stay */
	const char *binds[BWRAP_BIND_COUNT]; /* NULL: none */
};

/* Bind what is to be seen to where `uid` can reach it, and become that. */
bool bwrap_prepare_holder(const void *arg);

struct bwrap_prepare_job {
	const int *ns_fds; /* NS_COUNT of them */
	bool change_user;  /* to the one inside; root opened it */
	const char *cwd;
};

bool bwrap_prepare_job(const void *arg);

#endif
