#ifndef CONTROLLER_SANDBOX_SCRATCH_H
#define CONTROLLER_SANDBOX_SCRATCH_H

#include <sys/types.h>

#include "controller/sandbox/folder.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * The temporary folder of one local sandbox:
 *
 *	STATE_DIR/ID.lock	locked as long as its octap lives
 *	STATE_DIR/ID/home	seen inside as /home/user
 *	STATE_DIR/ID/tmp	seen inside as /tmp
 *
 * A folder whose lock is free was left by an octap that was killed.
 */
struct scratch {
	char *home_path, *tmp_path; /* on the host */
	struct folder state, home, tmp;
	char *id;
	int lock_fd;
};

/* `owner`: the uid that uses it; (uid_t)-1: our own. */
bool scratch_make(struct scratch *scratch, const char *state_dir,
		  const char *id, uid_t owner, struct error *err) MUST_USE;

/* Remove it and give the lock back; what cannot be removed is logged. */
void scratch_remove(struct scratch *scratch);

/* Remove what killed processes left.  Nothing there is fine. */
void scratch_sweep(const char *state_dir);

/*
 * Where a path inside the sandbox lies: the folder and the rest of the path.
 * ERROR_USAGE: not below /home/user or /tmp, or not plain ("..", "//").
 */
bool scratch_locate(const struct scratch *scratch, const char *path,
		    const struct folder **folder, const char **rest,
		    struct error *err) MUST_USE;

#endif
