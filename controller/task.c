/*
 * Reading tasks.  A table says which member goes where and what it must be, so
 * that each wrong one is refused by name.
 */
#include "controller/task.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/sandbox/sandbox.h"
#include "shared/buf.h"
#include "shared/file.h"
#include "shared/json_scan.h"
#include "shared/limits.h"
#include "shared/mem.h"

#define DEFAULT_AGENT_TIMEOUT_MS  600000
#define DEFAULT_SETUP_TIMEOUT_MS  300000
#define DEFAULT_VERIFY_TIMEOUT_MS 120000
#define LONGEST_TIMEOUT_S         (7.0 * 24 * 3600)

/* Where relative uploads are looked for, while parsing. */
struct context {
	struct task *task;
	const char *folder;
};

typedef bool member_fn(const struct context *context, const cJSON *value,
		       const char *name, struct error *err);

static bool wrong(const char *name, const char *expected, struct error *err)
{
	return error_set(err, ERROR_USAGE, "task: %s must be %s", name,
			 expected);
}

static bool take_text(char **target, const cJSON *value, const char *name,
		      struct error *err)
{
	if (!cJSON_IsString(value))
		return wrong(name, "a text", err);
	free(*target);
	*target = xstrdup(value->valuestring);
	return true;
}

static bool take_seconds(uint64_t *target, const cJSON *value, const char *name,
			 struct error *err)
{
	if (!cJSON_IsNumber(value) || !(value->valuedouble > 0) ||
	    value->valuedouble > LONGEST_TIMEOUT_S)
		return wrong(name,
			     "a number of seconds above 0, at most a week",
			     err);
	*target = (uint64_t)ceil(value->valuedouble * 1000);
	return true;
}

static bool take_texts(char ***target, const cJSON *value, const char *name,
		       size_t longest, struct error *err)
{
	int count = cJSON_GetArraySize(value), i = 0;
	const cJSON *item;

	if (!cJSON_IsArray(value) || count > LIMIT_TASK_COMMANDS)
		return wrong(name, "a list of at most 1000 texts", err);
	*target = xcalloc((size_t)count + 1, sizeof(**target));
	cJSON_ArrayForEach(item, value) {
		if (!cJSON_IsString(item))
			return wrong(name, "a list of texts", err);
		if (strlen(item->valuestring) > longest)
			return error_set(err, ERROR_USAGE,
					 "task: %s: a command is longer than "
					 "%zu bytes: put it into a file",
					 name, longest);
		(*target)[i++] = xstrdup(item->valuestring);
	}
	return true;
}

static bool take_object(cJSON **target, const cJSON *value, const char *name,
			struct error *err)
{
	if (!cJSON_IsObject(value))
		return wrong(name, "an object", err);
	*target = cJSON_Duplicate(value, true);
	return true;
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

static bool take_files(struct task_file **files, size_t *count,
		       const cJSON *value, const char *name, struct error *err)
{
	const cJSON *item;

	if (!cJSON_IsObject(value))
		return wrong(name, "an object of paths and texts", err);
	cJSON_ArrayForEach(item, value) {
		if (!cJSON_IsString(item))
			return wrong(name, "an object of paths and texts", err);
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
	int fd = open(path, O_RDONLY | O_CLOEXEC);
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

static bool take_upload(const struct context *context, struct task_file **files,
			size_t *count, const cJSON *item, const char *name,
			struct error *err)
{
	const cJSON *from = cJSON_GetObjectItemCaseSensitive(item, "from");
	const cJSON *to = cJSON_GetObjectItemCaseSensitive(item, "to");
	struct task_file file = { 0 };
	char *path;
	bool ok;

	if (!cJSON_IsString(from) || !cJSON_IsString(to) ||
	    cJSON_GetArraySize(item) != 2)
		return wrong(name, "a list of {\"from\": FILE, \"to\": PATH}",
			     err);
	path = *from->valuestring == '/'
		       ? xstrdup(from->valuestring)
		       : xasprintf("%s/%s", context->folder, from->valuestring);
	ok = read_upload(path, &file, name, err);
	free(path);
	if (!ok)
		return false;
	file.path = inside_path(to->valuestring);
	return add_file(files, count, file, name, err);
}

static bool take_uploads(const struct context *context,
			 struct task_file **files, size_t *count,
			 const cJSON *value, const char *name,
			 struct error *err)
{
	const cJSON *item;

	if (!cJSON_IsArray(value))
		return wrong(name, "a list of {\"from\": FILE, \"to\": PATH}",
			     err);
	cJSON_ArrayForEach(item, value)
		if (!take_upload(context, files, count, item, name, err))
			return false;
	return true;
}

static bool take_env(const struct context *context, const cJSON *value,
		     const char *name, struct error *err)
{
	int count = cJSON_GetArraySize(value), i = 0;
	const cJSON *item;

	if (!cJSON_IsObject(value))
		return wrong(name, "an object of names and texts", err);
	context->task->env =
		xcalloc((size_t)count + 1, sizeof(*context->task->env));
	cJSON_ArrayForEach(item, value) {
		if (!cJSON_IsString(item) || !*item->string ||
		    strchr(item->string, '='))
			return wrong(name, "an object of names and texts", err);
		if (strlen(item->string) + strlen(item->valuestring) >=
		    LIMIT_COMMAND_TEXT)
			return error_set(err, ERROR_USAGE,
					 "task: %s: %.60s is longer than %u "
					 "bytes: put it into a file",
					 name, item->string,
					 LIMIT_COMMAND_TEXT);
		context->task->env[i++] =
			xasprintf("%s=%s", item->string, item->valuestring);
	}
	return true;
}

static bool take_member(const struct context *context, const cJSON *value,
			const char *name, struct error *err)
{
	struct task *t = context->task;
	const struct {
		const char *name;
		char **text;
		uint64_t *ms;
		char ***texts;
		cJSON **object;
	} members[] = {
		{ .name = "task_id", .text = &t->id },
		{ .name = "instruction", .text = &t->instruction },
		{ .name = "system_prompt", .text = &t->system_prompt },
		{ .name = "agent_timeout_s", .ms = &t->agent_timeout_ms },
		{ .name = "setup_timeout_s", .ms = &t->setup_timeout_ms },
		{ .name = "verify_timeout_s", .ms = &t->verify_timeout_ms },
		{ .name = "setup", .texts = &t->setup },
		{ .name = "verify", .texts = &t->verify },
		{ .name = "tools", .texts = &t->tools },
		{ .name = "metadata", .object = &t->metadata },
		{ .name = "extra_opencode_json", .object = &t->extra_config },
	};

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		if (strcmp(members[i].name, name) != 0)
			continue;
		if (members[i].text)
			return take_text(members[i].text, value, name, err);
		if (members[i].ms)
			return take_seconds(members[i].ms, value, name, err);
		if (members[i].object)
			return take_object(members[i].object, value, name, err);
		return take_texts(members[i].texts, value, name,
				  LIMIT_COMMAND_TEXT, err);
	}
	if (!strcmp(name, "env"))
		return take_env(context, value, name, err);
	if (!strcmp(name, "files"))
		return take_files(&t->files, &t->file_count, value, name, err);
	if (!strcmp(name, "verify_files"))
		return take_files(&t->verify_files, &t->verify_file_count,
				  value, name, err);
	if (!strcmp(name, "upload"))
		return take_uploads(context, &t->files, &t->file_count, value,
				    name, err);
	if (!strcmp(name, "verify_upload"))
		return take_uploads(context, &t->verify_files,
				    &t->verify_file_count, value, name, err);
	return error_set(err, ERROR_USAGE, "task: unknown member \"%s\"", name);
}

static bool check(const struct task *t, struct error *err)
{
	if (!t->instruction || !*t->instruction)
		return wrong("instruction", "a text that is not empty", err);
	if (strlen(t->instruction) >= LIMIT_INSTRUCTION)
		return error_set(err, ERROR_USAGE,
				 "task: instruction is longer than %u bytes",
				 LIMIT_INSTRUCTION);
	/* It goes into the agent's environment. */
	if (t->system_prompt && strlen(t->system_prompt) >= LIMIT_COMMAND_TEXT)
		return error_set(err, ERROR_USAGE,
				 "task: system_prompt is longer than %u bytes",
				 LIMIT_COMMAND_TEXT);
	return true;
}

/* cJSON would cut a text at a NUL; nothing is to be cut in silence. */
static bool has_nul(struct span json)
{
	for (size_t i = 0; i + 5 < json.len; i++) {
		if (json.data[i] != '\\')
			continue;
		if (!memcmp(json.data + i + 1, "u0000", 5))
			return true;
		i++;
	}
	return false;
}

static bool parse_members(const struct context *context, const cJSON *json,
			  struct error *err)
{
	const cJSON *member;

	if (!cJSON_IsObject(json))
		return error_set(err, ERROR_USAGE, "task: not a JSON object");
	cJSON_ArrayForEach(member, json)
		if (!cJSON_IsNull(member) &&
		    !take_member(context, member, member->string, err))
			return false;
	return check(context->task, err);
}

bool task_parse(struct task *task, struct span json, const char *folder,
		struct error *err)
{
	const struct context context = { task, folder };
	cJSON *parsed;
	bool ok;

	*task = (struct task){
		.id = xstrdup("task"),
		.agent_timeout_ms = DEFAULT_AGENT_TIMEOUT_MS,
		.setup_timeout_ms = DEFAULT_SETUP_TIMEOUT_MS,
		.verify_timeout_ms = DEFAULT_VERIFY_TIMEOUT_MS,
	};
	parsed = json_valid(json) ? cJSON_ParseWithLength(json.data, json.len)
				  : NULL;
	if (!parsed)
		ok = error_set(err, ERROR_USAGE,
			       "task: not valid JSON in UTF-8");
	else if (has_nul(json))
		ok = error_set(
			err, ERROR_USAGE,
			"task: a text holds \\u0000, which no file name, "
			"command or prompt can carry");
	else
		ok = parse_members(&context, parsed, err);
	cJSON_Delete(parsed);
	if (!ok)
		task_release(task);
	return ok;
}

bool task_load(struct task *task, const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');
	char *folder =
		slash ? xstrndup(path, (size_t)(slash - path) + (slash == path))
		      : xstrdup(".");
	struct buf text;
	bool ok;

	buf_init(&text, LIMIT_TASK_FILE);
	ok = file_read(path, &text, err) &&
	     (task_parse(task, buf_span(&text), folder, err) ||
	      error_wrap(err, "%s", path));
	buf_release(&text);
	free(folder);
	return ok;
}

static void free_texts(char **texts)
{
	for (size_t i = 0; texts && texts[i]; i++)
		free(texts[i]);
	free(texts);
}

static void free_files(struct task_file *files, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(files[i].path);
		free(files[i].content);
	}
	free(files);
}

void task_release(struct task *t)
{
	free(t->id);
	free(t->instruction);
	free(t->system_prompt);
	free_texts(t->setup);
	free_texts(t->verify);
	free_texts(t->env);
	free_texts(t->tools);
	free_files(t->files, t->file_count);
	free_files(t->verify_files, t->verify_file_count);
	cJSON_Delete(t->metadata);
	cJSON_Delete(t->extra_config);
	*t = (struct task){ 0 };
}
