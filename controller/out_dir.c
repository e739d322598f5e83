/* Where a rollout's results go. */
#include "controller/out_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/buf.h"
#include "shared/file.h"
#include "shared/log.h"
#include "shared/mem.h"

#define MARKER ".running"

static bool is_empty(const char *path, struct error *err)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool empty = true;

	if (!dir)
		return error_set_errno(err, errno, "%s", path);
	while (empty && (entry = readdir(dir)))
		empty = !strcmp(entry->d_name, ".") ||
			!strcmp(entry->d_name, "..") ||
			!strcmp(entry->d_name, MARKER);
	closedir(dir);
	return empty ||
	       error_set(err, ERROR_USAGE,
			 "%s is not empty: choose another folder or remove it",
			 path);
}

/* The marker first, then the look: who comes second sees one of the two. */
static bool take(const char *path, const char *marker, struct error *err)
{
	int fd = open(marker, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0 && errno == EEXIST)
		return error_set(err, ERROR_USAGE,
				 "%s is in use by another octap, or was by one "
				 "that was killed: choose another folder or "
				 "remove it",
				 path);
	if (fd < 0)
		return error_set_errno(err, errno, "create %s", marker);
	close(fd);
	if (is_empty(path, err))
		return true;
	unlink(marker);
	return false;
}

bool out_dir_make(struct out_dir *dir, const char *path, struct error *err)
{
	char *marker;

	if (!file_make_dirs(path, err))
		return false;
	marker = xasprintf("%s/" MARKER, path);
	if (!take(path, marker, err)) {
		free(marker);
		return false;
	}
	*dir = (struct out_dir){
		.path = xstrdup(path),
		.result = xasprintf("%s/result.json", path),
		.trace = xasprintf("%s/proxy_trace.jsonl.zst", path),
		.proxy_log = xasprintf("%s/proxy.log", path),
		.agent_log = xasprintf("%s/agent.jsonl", path),
		.agent_stderr = xasprintf("%s/agent.stderr", path),
		.files = xasprintf("%s/files", path),
		.marker = marker,
	};
	return true;
}

bool out_dir_write(const char *path, struct span bytes, struct error *err)
{
	struct buf copy;
	bool ok;

	buf_init(&copy, bytes.len + 1);
	ok = buf_add(&copy, bytes, err);
	if (copy.len)
		log_mask_bytes(copy.data, copy.len);
	ok = ok && file_write(path, buf_span(&copy), err);
	if (!ok)
		unlink(path);
	buf_release(&copy);
	return ok;
}

void out_dir_release(struct out_dir *dir)
{
	if (dir->marker)
		unlink(dir->marker);
	free(dir->marker);
	free(dir->path);
	free(dir->result);
	free(dir->trace);
	free(dir->proxy_log);
	free(dir->agent_log);
	free(dir->agent_stderr);
	free(dir->files);
	*dir = (struct out_dir){ 0 };
}
