/*
 * bubblewrap makes two nested user namespaces (the outer one owns the mounts).
 * nsenter(1) cannot walk through both, so the walk is done here.
 *
 * When octap is root: an unprivileged uid may be unable to reach what is to be
 * mounted (say, below /root).  So root, in a mount namespace that ends with
 * this bubblewrap, first binds the folders to /tmp/0, /tmp/1 ... on a tmpfs,
 * and only then becomes the unprivileged uid.
 */
#include "controller/sandbox/bwrap_prepare.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INSIDE_ID 1000u

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

static bool bind_all(const struct bwrap_prepare_holder *p)
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

bool bwrap_prepare_holder(const void *arg)
{
	const struct bwrap_prepare_holder *p = arg;
	gid_t gid = (gid_t)p->uid;

	leave_keyring();
	if (p->uid == (uid_t)-1)
		return true;
	return bind_all(p) && setgroups(0, NULL) == 0 &&
	       setresgid(gid, gid, gid) == 0 &&
	       setresuid(p->uid, p->uid, p->uid) == 0;
}

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

bool bwrap_prepare_job(const void *arg)
{
	const struct bwrap_prepare_job *p = arg;

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
