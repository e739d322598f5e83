/* Leases of uids, by locked files below /run. */
#include "controller/sandbox/uid_lease.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEASE_DIR "/run/octap"

static bool is_somebodys(uid_t uid)
{
	return getpwuid(uid) != NULL;
}

/* The lock on this pair, or -1: somebody else has it. */
static int try_pair(uid_t uid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), LEASE_DIR "/uid-%u", (unsigned)uid);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	close(fd);
	errno = EWOULDBLOCK;
	return -1;
}

bool uid_lease_take(struct uid_lease *lease, struct error *err)
{
	if (mkdir(LEASE_DIR, 0700) < 0 && errno != EEXIST)
		return error_set_errno(err, errno, "make folder " LEASE_DIR);
	for (uid_t uid = UID_LEASE_FIRST; uid <= UID_LEASE_LAST; uid += 2) {
		int fd = try_pair(uid);

		if (fd < 0 && errno != EWOULDBLOCK)
			return error_set_errno(err, errno,
					       "lock a uid in " LEASE_DIR);
		if (fd < 0)
			continue;
		if (is_somebodys(uid) || is_somebodys(uid + 1)) {
			close(fd);
			continue;
		}
		*lease = (struct uid_lease){
			.sandbox_uid = uid,
			.proxy_uid = uid + 1,
			.lock_fd = fd,
		};
		return true;
	}
	return error_set(err, ERROR_UNAVAILABLE,
			 "all uids from %d to %d are taken by other rollouts",
			 UID_LEASE_FIRST, UID_LEASE_LAST + 1);
}

void uid_lease_return(struct uid_lease *lease)
{
	if (lease->lock_fd >= 0)
		close(lease->lock_fd);
	lease->lock_fd = -1;
}
