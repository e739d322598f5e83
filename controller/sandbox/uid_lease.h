#ifndef CONTROLLER_SANDBOX_UID_LEASE_H
#define CONTROLLER_SANDBOX_UID_LEASE_H

#include <sys/types.h>

#include "shared/compiler.h"
#include "shared/error.h"

/*
 * Unprivileged users for the rollouts of an octap that is run by root: a pair
 * of uids each, one for the sandbox and one for its proxy, that no other
 * rollout on this host has at the same time.  A lease is a locked file, so it
 * ends with the process at the latest.
 *
 * The uids lie between UID_LEASE_FIRST and UID_LEASE_LAST: beyond what adduser
 * gives to people (to 57,999 if there are very many) and below what systemd
 * and Debian give to services (from 60,000).
 */
#define UID_LEASE_FIRST 58000
#define UID_LEASE_LAST  59998

struct uid_lease {
	uid_t sandbox_uid;
	uid_t proxy_uid;
	int lock_fd;
};

/* ERROR_UNAVAILABLE: all are taken. */
bool uid_lease_take(struct uid_lease *lease, struct error *err) MUST_USE;
void uid_lease_return(struct uid_lease *lease);

#endif
