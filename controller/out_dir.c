/* Where a rollout's results go. */
#include "controller/out_dir.h"

#include <stdlib.h>
#include <unistd.h>

#include "shared/buf.h"
#include "shared/file.h"
#include "shared/log.h"
#include "shared/mem.h"

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

bool out_dir_make(struct out_dir *dir, const char *path, struct error *err)
{
	if (!file_make_dirs(path, err))
		return false;
	*dir = (struct out_dir){
		.path = xstrdup(path),
		.result = xasprintf("%s/result.json", path),
		.trace = xasprintf("%s/proxy_trace.jsonl.zst", path),
		.proxy_log = xasprintf("%s/proxy.log", path),
		.agent_log = xasprintf("%s/agent.jsonl", path),
		.agent_stderr = xasprintf("%s/agent.stderr", path),
		.files = xasprintf("%s/files", path),
	};
	if (!exists(dir->result) && !exists(dir->trace))
		return true;
	out_dir_release(dir);
	return error_set(err, ERROR_USAGE,
			 "%s already holds a rollout: choose another folder or "
			 "remove it",
			 path);
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
	free(dir->path);
	free(dir->result);
	free(dir->trace);
	free(dir->proxy_log);
	free(dir->agent_log);
	free(dir->agent_stderr);
	free(dir->files);
	*dir = (struct out_dir){ 0 };
}
