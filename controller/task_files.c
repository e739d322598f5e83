/* The files of a task. */
#include "controller/task_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/agent/agent.h"
#include "controller/sandbox/sandbox.h"
#include "controller/verify.h"
#include "shared/buf.h"
#include "shared/file.h"
#include "shared/limits.h"
#include "shared/mem.h"

/* What octap writes, or has written, itself. */
static const char *const own_paths[] = {
	TASK_WORKDIR,
	AGENT_INSTRUCTION,
	VERIFY_REWARD_FILE,
	SANDBOX_HOME "/logs/agent/log",
	SANDBOX_HOME "/.config/opencode/package.json",
};

bool task_member_wrong(const char *name, const char *expected,
		       struct error *err)
{
	return error_set(err, ERROR_USAGE, "task: %s must be %s", name,
			 expected);
}

static char *inside_path(const char *path)
{
	return *path == '/' ? xstrdup(path)
			    : xasprintf("%s/%s", TASK_WORKDIR, path);
}

static bool check_file(const struct task_file *file, size_t count,
		       const char *name, struct error *err)
{
	if (count == LIMIT_TASK_FILES)
		return error_set(err, ERROR_USAGE, "task: more than %d %s",
				 LIMIT_TASK_FILES, name);
	return sandbox_path_below(file->path, SANDBOX_HOME) ||
	       sandbox_path_below(file->path, SANDBOX_TMP) ||
	       error_set(err, ERROR_USAGE,
			 "task: %s: %.120s must be a plain path "
			 "below " SANDBOX_HOME " or " SANDBOX_TMP,
			 name, file->path);
}

/* The file is taken over. */
static bool add_file(struct task_file **files, size_t *count,
		     struct task_file file, const char *name, struct error *err)
{
	if (!check_file(&file, *count, name, err)) {
		free(file.path);
		free(file.content);
		return false;
	}
	*files = xrealloc_array(*files, *count + 1, sizeof(**files));
	(*files)[(*count)++] = file;
	return true;
}

bool task_files_add(struct task_file **files, size_t *count, const cJSON *value,
		    const char *name, struct error *err)
{
	const cJSON *item;

	if (!cJSON_IsObject(value))
		return task_member_wrong(name, "an object of paths and texts",
					 err);
	cJSON_ArrayForEach(item, value) {
		if (!cJSON_IsString(item))
			return task_member_wrong(
				name, "an object of paths and texts", err);
		if (!add_file(files, count,
			      (struct task_file){
				      .path = inside_path(item->string),
				      .content = xstrdup(item->valuestring),
				      .len = strlen(item->valuestring),
			      },
			      name, err))
			return false;
	}
	return true;
}

static bool read_upload(const char *path, struct task_file *file,
			const char *name, struct error *err)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	struct buf bytes;
	bool ok;

	if (fd < 0)
		return error_set_errno(err, errno, "task: %s %s", name, path);
	buf_init(&bytes, LIMIT_UPLOAD_FILE);
	ok = fstat(fd, &status) == 0 && S_ISREG(status.st_mode)
		     ? file_read_fd(fd, &bytes, err)
		     : error_set(err, ERROR_USAGE, "not a regular file");
	close(fd);
	if (!ok) {
		buf_release(&bytes);
		return error_wrap(err, "task: %s %s", name, path);
	}
	file->executable = status.st_mode & 0111;
	file->content = buf_detach(&bytes, &file->len);
	return true;
}

static bool take_upload(struct task_file **files, size_t *count,
			const char *folder, const cJSON *item, const char *name,
			struct error *err)
{
	const cJSON *from = cJSON_GetObjectItemCaseSensitive(item, "from");
	const cJSON *to = cJSON_GetObjectItemCaseSensitive(item, "to");
	struct task_file file = { 0 };
	char *path;
	bool ok;

	if (!cJSON_IsString(from) || !cJSON_IsString(to) ||
	    cJSON_GetArraySize(item) != 2)
		return task_member_wrong(
			name, "a list of {\"from\": FILE, \"to\": PATH}", err);
	path = *from->valuestring == '/'
		       ? xstrdup(from->valuestring)
		       : xasprintf("%s/%s", folder, from->valuestring);
	ok = read_upload(path, &file, name, err);
	free(path);
	if (!ok)
		return false;
	file.path = inside_path(to->valuestring);
	return add_file(files, count, file, name, err);
}

bool task_files_upload(struct task_file **files, size_t *count,
		       const char *folder, const cJSON *value, const char *name,
		       struct error *err)
{
	const cJSON *item;

	if (!cJSON_IsArray(value))
		return task_member_wrong(
			name, "a list of {\"from\": FILE, \"to\": PATH}", err);
	cJSON_ArrayForEach(item, value)
		if (!take_upload(files, count, folder, item, name, err))
			return false;
	return true;
}

/* Is `path` that folder, or below it? */
static bool is_within(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return !strncmp(path, folder, len) && (!path[len] || path[len] == '/');
}

/* As strcmp(), but what lies below a folder comes right after it. */
static int compare_paths(const void *first, const void *second)
{
	const char *a = *(const char *const *)first;
	const char *b = *(const char *const *)second;

	while (*a && *a == *b)
		a++, b++;
	if (*a == '/' || *b == '/')
		return *a == '/' ? (*b ? -1 : 1) : (*a ? 1 : -1);
	return (unsigned char)*a - (unsigned char)*b;
}

static bool check_own(const char *path, const char *name, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(own_paths); i++)
		if (is_within(own_paths[i], path))
			return error_set(err, ERROR_USAGE,
					 "task: %s: %.120s is in the way of "
					 "octap's own %s",
					 name, path, own_paths[i]);
	return true;
}

static bool check_sorted(const char **paths, size_t count, const char *name,
			 struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (!check_own(paths[i], name, err))
			return false;
		if (i && is_within(paths[i], paths[i - 1]))
			return error_set(err, ERROR_USAGE,
					 "task: %s: %.90s %s %.90s", name,
					 paths[i],
					 strcmp(paths[i], paths[i - 1]) != 0
						 ? "lies below the file"
						 : "is there twice:",
					 paths[i - 1]);
	}
	return true;
}

bool task_files_check(const struct task_file *files, size_t count,
		      const char *name, struct error *err)
{
	const char **paths = xcalloc(count + 1, sizeof(*paths));
	bool ok;

	for (size_t i = 0; i < count; i++)
		paths[i] = files[i].path;
	qsort(paths, count, sizeof(*paths), compare_paths);
	ok = check_sorted(paths, count, name, err);
	free(paths);
	return ok;
}

void task_files_free(struct task_file *files, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(files[i].path);
		free(files[i].content);
	}
	free(files);
}
