/*
 * Files in a hostile folder.  Whatever is opened, and be it to be removed, is
 * opened by open_beneath().
 */
#include "controller/sandbox/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/file.h"
#include "shared/mem.h"

static int open_beneath(int dir, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned)(flags | O_CLOEXEC),
		.mode = flags & O_CREAT ? 0600 : 0,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
	};

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

bool folder_open(struct folder *folder, const char *path, uid_t owner,
		 struct error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return error_set_errno(err, errno, "open folder %s", path);
	*folder = (struct folder){ .fd = fd, .owner = owner };
	return true;
}

void folder_close(struct folder *folder)
{
	if (folder->fd >= 0)
		close(folder->fd);
	folder->fd = -1;
}

static bool give_to_owner(const struct folder *folder, int fd)
{
	return folder->owner == (uid_t)-1 ||
	       fchown(fd, folder->owner, (gid_t)folder->owner) == 0;
}

/* The agent may have closed its own folders. */
static void make_accessible(int dir, const char *name)
{
	int fd = open_beneath(dir, name, O_PATH | O_DIRECTORY);
	struct stat status;
	char path[32];

	if (fd < 0)
		return;
	/* fchmodat() would follow a link, fchmod() refuses O_PATH. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fstat(fd, &status) == 0 && (status.st_mode & 0700) != 0700)
		chmod(path, (status.st_mode & 0777) | 0700);
	close(fd);
}

static int open_subfolder(int dir, const char *name)
{
	make_accessible(dir, name);
	return open_beneath(dir, name, O_RDONLY | O_DIRECTORY);
}

static int make_new(const struct folder *folder, int dir, const char *name,
		    mode_t mode)
{
	int fd = mkdirat(dir, name, mode) < 0 ? -1 : open_subfolder(dir, name);

	if (fd >= 0 && (!give_to_owner(folder, fd) || fchmod(fd, mode) < 0)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The folder `name` in `dir`; what else has that name makes way. */
static int enter_or_make(const struct folder *folder, int dir, const char *name,
			 mode_t mode)
{
	int fd = open_subfolder(dir, name);

	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP) &&
	    unlinkat(dir, name, 0) == 0)
		errno = ENOENT;
	return fd < 0 && errno == ENOENT ? make_new(folder, dir, name, mode)
					 : fd;
}

static int open_top(const struct folder *folder)
{
	struct stat status;

	if (fstat(folder->fd, &status) == 0 && (status.st_mode & 0700) != 0700)
		fchmod(folder->fd, (status.st_mode & 0777) | 0700);
	return open_beneath(folder->fd, ".", O_RDONLY | O_DIRECTORY);
}

/* Walk down all but the last part of the path, making what is missing. */
static int make_parents(const struct folder *folder, char *path, mode_t mode,
			const char **last)
{
	int fd = open_top(folder);
	char *slash;

	while (fd >= 0 && (slash = strchr(path, '/'))) {
		int next;

		*slash = '\0';
		next = enter_or_make(folder, fd, path, mode);
		close(fd);
		fd = next;
		path = slash + 1;
	}
	*last = path;
	return fd;
}

bool folder_make(const struct folder *folder, const char *path, mode_t mode,
		 struct error *err)
{
	char *copy = xstrdup(path);
	const char *last;
	int parent = make_parents(folder, copy, mode, &last);
	int fd = parent < 0 ? -1 : enter_or_make(folder, parent, last, mode);
	bool ok = fd >= 0;

	if (!ok)
		error_set_errno(err, errno, "make folder %s", path);
	if (fd >= 0)
		close(fd);
	if (parent >= 0)
		close(parent);
	free(copy);
	return ok;
}

static bool write_new(const struct folder *parent, const char *name,
		      struct span bytes, mode_t mode)
{
	int fd = open_beneath(parent->fd, name, O_WRONLY | O_CREAT | O_EXCL);
	bool ok;

	if (fd < 0)
		return false;
	ok = file_write_fd(fd, bytes) && give_to_owner(parent, fd) &&
	     fchmod(fd, mode) == 0;
	close(fd);
	return ok;
}

bool folder_write(const struct folder *folder, const char *path,
		  struct span bytes, mode_t mode, struct error *err)
{
	char *copy = xstrdup(path);
	struct folder parent = { .owner = folder->owner };
	const char *last;
	bool ok;

	parent.fd = make_parents(folder, copy, 0755, &last);
	if (parent.fd < 0)
		ok = error_set_errno(err, errno, "write %s", path);
	else if (!folder_remove(&parent, last, err))
		ok = error_wrap(err, "write %s", path);
	else
		ok = write_new(&parent, last, bytes, mode) ||
		     error_set_errno(err, errno, "write %s", path);
	folder_close(&parent);
	free(copy);
	return ok;
}

/* A regular file of that path, and its size; -1: there is none. */
static int open_regular(const struct folder *folder, const char *path,
			uint64_t *size, struct error *err)
{
	int fd = open_beneath(folder->fd, path, O_RDONLY | O_NONBLOCK);
	struct stat status;

	if (fd < 0) {
		bool absent = errno == ENOENT;

		error_set_errno(err, errno, "read %s", path);
		err->kind = absent ? ERROR_ABSENT : ERROR_REFUSED;
		return -1;
	}
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
		*size = (uint64_t)status.st_size;
		return fd;
	}
	close(fd);
	error_set(err, ERROR_REFUSED, "read %s: not a regular file", path);
	return -1;
}

bool folder_read(const struct folder *folder, const char *path, struct buf *out,
		 struct error *err)
{
	uint64_t size;
	int fd = open_regular(folder, path, &size, err);
	bool ok;

	if (fd < 0)
		return false;
	ok = file_read_fd(fd, out, err) || error_wrap(err, "read %s", path);
	close(fd);
	return ok;
}

/* `len` bytes, or up to the end. */
static bool read_range(int fd, uint64_t offset, uint64_t len, struct buf *out,
		       struct error *err)
{
	char chunk[65536];

	while (len) {
		size_t most = len < sizeof(chunk) ? (size_t)len : sizeof(chunk);
		ssize_t got = pread(fd, chunk, most, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set_errno(err, errno, "read");
		if (!got)
			return true;
		if (!buf_add(out, span_from(chunk, (size_t)got), err))
			return false;
		offset += (uint64_t)got;
		len -= (uint64_t)got;
	}
	return true;
}

bool folder_read_ends(const struct folder *folder, const char *path,
		      size_t limit, struct buf *out, uint64_t *skipped,
		      struct error *err)
{
	uint64_t size, half = limit / 2;
	int fd = open_regular(folder, path, &size, err);
	bool ok;

	if (fd < 0)
		return false;
	if (size <= limit)
		ok = read_range(fd, 0, limit, out, err);
	else
		ok = read_range(fd, 0, half, out, err) &&
		     read_range(fd, size - half, half, out, err);
	close(fd);
	if (!ok)
		return error_wrap(err, "read %s", path);
	*skipped = size <= limit ? 0 : size - 2 * half;
	return true;
}

/*
 * Removing: the entries of a subfolder that are folders themselves and not
 * empty are moved up to the top, so that however deep an agent nested them,
 * one level and two descriptors are enough.
 */
static bool unlink_entry(int dir, const char *name)
{
	return unlinkat(dir, name, 0) == 0 ||
	       unlinkat(dir, name, AT_REMOVEDIR) == 0;
}

static bool move_up(int from, const char *name, int top)
{
	static unsigned long counter;
	char unique[48];

	/* Moving a folder needs the right to write in it. */
	make_accessible(from, name);
	snprintf(unique, sizeof(unique), ".octap-removed-%d-%lu", (int)getpid(),
		 counter++);
	return renameat(from, name, top, unique) == 0;
}

static bool is_dot(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

/* Do something with each entry of a folder; takes the descriptor over. */
static bool for_each_entry(int fd, int top,
			   bool (*fn)(int dir, const char *name, int top))
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;
	bool ok = true;

	if (!dir) {
		close(fd);
		return false;
	}
	while ((entry = readdir(dir)))
		if (!is_dot(entry->d_name))
			ok &= fn(dirfd(dir), entry->d_name, top);
	closedir(dir);
	return ok;
}

static bool remove_or_move_up(int dir, const char *name, int top)
{
	return unlink_entry(dir, name) || move_up(dir, name, top);
}

static bool remove_level(int dir, const char *name, int top)
{
	int fd;

	if (unlink_entry(dir, name))
		return true;
	fd = open_subfolder(dir, name);
	return fd >= 0 && for_each_entry(fd, top, remove_or_move_up) &&
	       unlinkat(dir, name, AT_REMOVEDIR) == 0;
}

static bool is_empty(int fd)
{
	int copy = open_beneath(fd, ".", O_RDONLY | O_DIRECTORY);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	bool empty = true;

	if (!dir)
		return false;
	while ((entry = readdir(dir)))
		empty &= is_dot(entry->d_name);
	closedir(dir);
	return empty;
}

static bool empty_folder(int fd)
{
	while (!is_empty(fd)) {
		int copy = open_beneath(fd, ".", O_RDONLY | O_DIRECTORY);

		if (copy < 0 || !for_each_entry(copy, fd, remove_level))
			return false;
	}
	return true;
}

bool folder_remove(const struct folder *folder, const char *name,
		   struct error *err)
{
	int fd;
	bool ok;

	if (unlink_entry(folder->fd, name) || errno == ENOENT)
		return true;
	fd = open_subfolder(folder->fd, name);
	ok = fd >= 0 && empty_folder(fd) &&
	     unlinkat(folder->fd, name, AT_REMOVEDIR) == 0;
	if (!ok)
		error_set_errno(err, errno, "remove %s", name);
	if (fd >= 0)
		close(fd);
	return ok;
}

bool folder_clear(const struct folder *folder, const char *path,
		  struct error *err)
{
	char *copy = xstrdup(path);
	const char *last;
	struct folder parent = { .owner = folder->owner };
	bool ok;

	parent.fd = make_parents(folder, copy, 0755, &last);
	if (parent.fd < 0)
		ok = error_set_errno(err, errno, "remove %s", path);
	else
		ok = folder_remove(&parent, last, err);
	folder_close(&parent);
	free(copy);
	return ok;
}

bool folder_make_afresh(const struct folder *folder, const char *path,
			mode_t mode, struct error *err)
{
	return folder_clear(folder, path, err) &&
	       folder_make(folder, path, mode, err);
}
