/* Temporary folders that do not outlive their octap for long. */
#include "controller/sandbox/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/sandbox/sandbox.h"
#include "shared/log.h"
#include "shared/mem.h"

#define LOCK_SUFFIX ".lock"

/*
 * Somebody else may have made a folder of that name in /tmp: it must be a
 * folder, ours, and closed to writers.
 */
static bool open_state_dir(struct folder *folder, const char *path,
			   struct error *err)
{
	struct stat status;

	if (mkdir(path, 0711) < 0 && errno != EEXIST)
		return error_set_errno(err, errno, "make folder %s", path);
	if (!folder_open(folder, path, (uid_t)-1, err))
		return false;
	if (fstat(folder->fd, &status) == 0 && status.st_uid == geteuid() &&
	    !(status.st_mode & 022))
		return true;
	folder_close(folder);
	return error_set(err, ERROR_USAGE,
			 "%s belongs to somebody else: remove it or set TMPDIR",
			 path);
}

/*
 * Lock the file that the name stands for; -1: taken, or errno.  A new one is
 * nobody's but a sweep's, which may take it for a leftover, for a moment.
 */
static int lock_file(int dir, const char *name, int flags)
{
	int how = flags & O_CREAT ? LOCK_EX : LOCK_EX | LOCK_NB;

	for (;;) {
		struct stat ours, named;
		int fd = openat(dir, name, O_RDWR | O_CLOEXEC | flags, 0600);

		if (fd < 0 || flock(fd, how) < 0) {
			if (fd >= 0)
				close(fd);
			return -1;
		}
		/* A sweep may have removed the name in between. */
		if (fstat(fd, &ours) == 0 &&
		    fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		    ours.st_ino == named.st_ino)
			return fd;
		close(fd);
		if (!(flags & O_CREAT))
			return -1;
	}
}

static bool make_part(struct scratch *s, const char *name, uid_t owner,
		      struct folder *part, char **path, const char *state_dir,
		      struct error *err)
{
	char *relative = xasprintf("%s/%s", s->id, name);
	const struct folder made = { .fd = s->state.fd, .owner = owner };
	bool ok = folder_make(&made, relative, 0700, err);

	*path = xasprintf("%s/%s", state_dir, relative);
	ok = ok && folder_open(part, *path, owner, err);
	free(relative);
	return ok;
}

bool scratch_make(struct scratch *s, const char *state_dir, const char *id,
		  uid_t owner, struct error *err)
{
	char *lock_name = xasprintf("%s" LOCK_SUFFIX, id);

	*s = (struct scratch){
		.id = xstrdup(id),
		.lock_fd = -1,
		.state.fd = -1,
		.home.fd = -1,
		.tmp.fd = -1,
	};
	if (!open_state_dir(&s->state, state_dir, err))
		goto fail;
	s->lock_fd = lock_file(s->state.fd, lock_name, O_CREAT);
	if (s->lock_fd < 0) {
		error_set_errno(err, errno, "lock %s in %s", lock_name,
				state_dir);
		goto fail;
	}
	if (!folder_make(&s->state, id, 0711, err) ||
	    !make_part(s, "home", owner, &s->home, &s->home_path, state_dir,
		       err) ||
	    !make_part(s, "tmp", owner, &s->tmp, &s->tmp_path, state_dir, err))
		goto fail;
	free(lock_name);
	return true;
fail:
	free(lock_name);
	scratch_remove(s);
	return false;
}

static void remove_locked(const struct folder *state, const char *id)
{
	char *lock_name = xasprintf("%s" LOCK_SUFFIX, id);
	struct error err;

	if (!folder_remove(state, id, &err))
		log_warn("sandbox", "leftover folder %s: %s", id, err.text);
	else
		unlinkat(state->fd, lock_name, 0);
	free(lock_name);
}

void scratch_remove(struct scratch *s)
{
	if (s->lock_fd >= 0) {
		remove_locked(&s->state, s->id);
		close(s->lock_fd);
	}
	folder_close(&s->home);
	folder_close(&s->tmp);
	folder_close(&s->state);
	free(s->home_path);
	free(s->tmp_path);
	free(s->id);
	*s = (struct scratch){
		.lock_fd = -1, .state.fd = -1, .home.fd = -1, .tmp.fd = -1
	};
}

/* "ID.lock" with its lock free: nobody's any more. */
static void sweep_entry(const struct folder *state, const char *name)
{
	size_t len = strlen(name), suffix = strlen(LOCK_SUFFIX);
	char *id;
	int fd;

	if (len <= suffix || strcmp(name + len - suffix, LOCK_SUFFIX) != 0)
		return;
	fd = lock_file(state->fd, name, 0);
	if (fd < 0)
		return;
	id = xstrndup(name, len - suffix);
	log_info("sandbox", "removing %s, left by an octap that was killed",
		 id);
	remove_locked(state, id);
	free(id);
	close(fd);
}

void scratch_sweep(const char *state_dir)
{
	struct folder state;
	struct dirent *entry;
	struct error err;
	DIR *dir;
	int fd;

	if (access(state_dir, F_OK) < 0)
		return;
	if (!open_state_dir(&state, state_dir, &err)) {
		log_warn("sandbox", "%s", err.text);
		return;
	}
	fd = openat(state.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	while (dir && (entry = readdir(dir)))
		sweep_entry(&state, entry->d_name);
	if (dir)
		closedir(dir);
	folder_close(&state);
}

bool scratch_locate(const struct scratch *s, const char *path,
		    const struct folder **folder, const char **rest,
		    struct error *err)
{
	const char *in_home = sandbox_path_below(path, SANDBOX_HOME);
	const char *in_tmp = sandbox_path_below(path, SANDBOX_TMP);

	if (!in_home && !in_tmp)
		return error_set(err, ERROR_USAGE,
				 "%s: must be a plain path below " SANDBOX_HOME
				 " or " SANDBOX_TMP,
				 path);
	*folder = in_home ? &s->home : &s->tmp;
	*rest = in_home ? in_home : in_tmp;
	return true;
}
