#ifndef CONTROLLER_SANDBOX_BWRAP_ARGS_H
#define CONTROLLER_SANDBOX_BWRAP_ARGS_H

#include <stdbool.h>

#include "shared/buf.h"

/*
 * What bubblewrap is told: which namespaces, and what is seen inside.  bwrap(1)
 * explains each option.
 */

/* Numbers of the descriptors that bubblewrap reads or writes. */
enum {
	BWRAP_FD_ARGS = 3, /* --args */
	BWRAP_FD_INFO,     /* --info-fd */
	BWRAP_FD_PASSWD,   /* becomes /etc/passwd */
	BWRAP_FD_GROUP,    /* becomes /etc/group */
};

/* Folders and files of the host that are seen at places of their own. */
enum {
	BWRAP_BIND_HOME,  /* at SANDBOX_HOME */
	BWRAP_BIND_TMP,   /* at SANDBOX_TMP */
	BWRAP_BIND_AGENT, /* at SANDBOX_AGENT_PATH, read-only */
	BWRAP_BIND_COUNT,
};

/*
 * The arguments, each ended by a NUL.  `staged`: root bound the sources to
 * /tmp/0, /tmp/1 ... beforehand; a NULL source is left out.
 */
void bwrap_args_build(struct buf *args,
		      const char *const sources[BWRAP_BIND_COUNT], bool staged);

/* Is this path of the host, an absolute one without links, seen inside? */
bool bwrap_args_shows(const char *path);

#endif
