/* Whole files. */
#include "shared/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/limits.h"
#include "shared/mem.h"

bool file_read_fd(int fd, struct buf *out, struct error *err)
{
	char chunk[16384];

	for (;;) {
		ssize_t got = read(fd, chunk, sizeof(chunk));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set_errno(err, errno, "read");
		if (!got)
			return true;
		if (!buf_add(out, span_from(chunk, (size_t)got), err))
			return false;
	}
}

bool file_read(const char *path, struct buf *out, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool ok;

	if (fd < 0)
		return error_set_errno(err, errno, "open %s", path);
	ok = file_read_fd(fd, out, err) || error_wrap(err, "%s", path);
	close(fd);
	return ok;
}

bool file_is_readable(const char *path)
{
	struct stat status;

	return !stat(path, &status) && S_ISREG(status.st_mode) &&
	       !access(path, R_OK);
}

bool file_write_fd(int fd, struct span bytes)
{
	while (bytes.len) {
		ssize_t put = write(fd, bytes.data, bytes.len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return false;
		bytes = span_after(bytes, (size_t)put);
	}
	return true;
}

bool file_write(const char *path, struct span bytes, struct error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	bool ok = fd >= 0 && file_write_fd(fd, bytes);

	if (!ok)
		error_set_errno(err, errno, "write %s", path);
	if (fd >= 0)
		close(fd);
	return ok;
}

bool file_write_atomic(const char *path, struct span bytes, struct error *err)
{
	char *temporary = xasprintf("%s.XXXXXX", path);
	int fd = mkostemp(temporary, O_CLOEXEC);
	bool ok;

	if (fd < 0) {
		error_set_errno(err, errno, "create %s", temporary);
		free(temporary);
		return false;
	}
	ok = file_write_fd(fd, bytes) && fchmod(fd, 0644) == 0 &&
	     fsync(fd) == 0 && rename(temporary, path) == 0;
	if (!ok) {
		error_set_errno(err, errno, "write %s", path);
		unlink(temporary);
	}
	close(fd);
	free(temporary);
	return ok;
}

static bool is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool file_make_dirs(const char *path, struct error *err)
{
	char *copy = xstrdup(path);
	bool ok = true;

	for (char *p = copy + 1; ok && *copy; p++) {
		char saved = *p;
		int failure;

		if (saved && saved != '/')
			continue;
		*p = '\0';
		failure = mkdir(copy, 0755) < 0 ? errno : 0;
		if (failure && !is_folder(copy))
			ok = error_set_errno(err, failure, "create folder %s",
					     copy);
		*p = saved;
		if (!saved)
			break;
	}
	free(copy);
	return ok;
}

const char *secret_fault(struct span text)
{
	if (!text.len)
		return "the key is empty";
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.data[i] <= ' ' || text.data[i] == 0x7F)
			return "the key holds white space or a control "
			       "character";
	return NULL;
}

bool file_read_secret(const char *path, char **secret, struct error *err)
{
	const char *fault;
	struct span text;
	struct buf buf;
	bool ok = false;

	buf_init(&buf, LIMIT_KEY_FILE);
	if (!file_read(path, &buf, err))
		goto out;
	text = span_trim(buf_span(&buf));
	fault = secret_fault(text);
	if (fault) {
		error_set(err, ERROR_USAGE, "%s: %s", path, fault);
		goto out;
	}
	*secret = xstrndup(text.data, text.len);
	ok = true;
out:
	mem_wipe(buf.data, buf.alloc);
	buf_release(&buf);
	return ok;
}
