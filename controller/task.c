/*
 * Reading tasks.  A table says which member goes where and what it must be, so
 * that each wrong one is refused by name.
 */
#include "controller/task.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "controller/task_files.h"
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
	struct span json; /* all of the task */
	const char *folder;
};

static bool take_text(char **target, const cJSON *value, const char *name,
		      struct error *err)
{
	if (!cJSON_IsString(value))
		return task_member_wrong(name, "a text", err);
	free(*target);
	*target = xstrdup(value->valuestring);
	return true;
}

static bool take_seconds(uint64_t *target, const cJSON *value, const char *name,
			 struct error *err)
{
	if (!cJSON_IsNumber(value) || !(value->valuedouble > 0) ||
	    value->valuedouble > LONGEST_TIMEOUT_S)
		return task_member_wrong(
			name, "a number of seconds above 0, at most a week",
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
		return task_member_wrong(name, "a list of at most 1000 texts",
					 err);
	*target = xcalloc((size_t)count + 1, sizeof(**target));
	cJSON_ArrayForEach(item, value) {
		if (!cJSON_IsString(item))
			return task_member_wrong(name, "a list of texts", err);
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
		return task_member_wrong(name, "an object", err);
	*target = cJSON_Duplicate(value, true);
	return true;
}

/* The bytes as they stand: no number of it is rounded. */
static bool take_metadata(const struct context *context, const cJSON *value,
			  const char *name, struct error *err)
{
	struct json_value raw;

	if (!cJSON_IsObject(value) || !json_find(context->json, name, &raw))
		return task_member_wrong(name, "an object", err);
	free(context->task->metadata);
	context->task->metadata = xstrndup(raw.text.data, raw.text.len);
	return true;
}

/* Of two with one name, one would be passed over in silence. */
static bool check_unique(const cJSON *object, const cJSON *member,
			 struct error *err)
{
	return cJSON_GetObjectItemCaseSensitive(object, member->string) ==
		       member ||
	       error_set(err, ERROR_USAGE, "task: %.100s is there twice",
			 member->string);
}

static bool take_env(const struct context *context, const cJSON *value,
		     const char *name, struct error *err)
{
	int count = cJSON_GetArraySize(value), i = 0;
	const cJSON *item;

	if (!cJSON_IsObject(value))
		return task_member_wrong(name, "an object of names and texts",
					 err);
	context->task->env =
		xcalloc((size_t)count + 1, sizeof(*context->task->env));
	cJSON_ArrayForEach(item, value) {
		if (!cJSON_IsString(item) || !*item->string ||
		    strchr(item->string, '='))
			return task_member_wrong(
				name, "an object of names and texts", err);
		if (!check_unique(value, item, err))
			return error_wrap(err, "%s", name);
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
	if (!strcmp(name, "metadata"))
		return take_metadata(context, value, name, err);
	if (!strcmp(name, "env"))
		return take_env(context, value, name, err);
	if (!strcmp(name, "files"))
		return task_files_add(&t->files, &t->file_count, value, name,
				      err);
	if (!strcmp(name, "verify_files"))
		return task_files_add(&t->verify_files, &t->verify_file_count,
				      value, name, err);
	if (!strcmp(name, "upload"))
		return task_files_upload(&t->files, &t->file_count,
					 context->folder, value, name, err);
	if (!strcmp(name, "verify_upload"))
		return task_files_upload(&t->verify_files,
					 &t->verify_file_count, context->folder,
					 value, name, err);
	return error_set(err, ERROR_USAGE, "task: unknown member \"%s\"", name);
}

static bool check(const struct task *t, struct error *err)
{
	if (!t->instruction || !*t->instruction)
		return task_member_wrong("instruction",
					 "a text that is not empty", err);
	if (strlen(t->instruction) >= LIMIT_INSTRUCTION)
		return error_set(err, ERROR_USAGE,
				 "task: instruction is longer than %u bytes",
				 LIMIT_INSTRUCTION);
	/* It goes into the agent's environment. */
	if (t->system_prompt && strlen(t->system_prompt) >= LIMIT_COMMAND_TEXT)
		return error_set(err, ERROR_USAGE,
				 "task: system_prompt is longer than %u bytes",
				 LIMIT_COMMAND_TEXT);
	return task_files_check(t->files, t->file_count, "files", err) &&
	       task_files_check(t->verify_files, t->verify_file_count,
				"verify_files", err);
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
		if (!check_unique(json, member, err) ||
		    (!cJSON_IsNull(member) &&
		     !take_member(context, member, member->string, err)))
			return false;
	return check(context->task, err);
}

bool task_parse(struct task *task, struct span json, const char *folder,
		struct error *err)
{
	const struct context context = { task, json, folder };
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

void task_release(struct task *t)
{
	free(t->id);
	free(t->instruction);
	free(t->system_prompt);
	free_texts(t->setup);
	free_texts(t->verify);
	free_texts(t->env);
	free_texts(t->tools);
	task_files_free(t->files, t->file_count);
	task_files_free(t->verify_files, t->verify_file_count);
	free(t->metadata);
	cJSON_Delete(t->extra_config);
	*t = (struct task){ 0 };
}
