/*
 * opencode (https://opencode.ai), 1.18, as its command line tool behaves:
 *
 * - The prompt goes in on stdin from a file: a positional one is altered, and
 *   a stdin that stays open makes it wait for ever.
 * - Its events go to a file: to a pipe they are cut at the exit.
 * - The configuration goes in by OPENCODE_CONFIG_CONTENT, which a project's own
 *   opencode.json cannot override; the model is said on the command line as
 *   well, because the project may define an agent with another.  In the former
 *   `{env:...}` and `{file:...}` would be replaced even inside values, so each
 *   brace there is written as an escape.
 * - Compaction is off: it would rewrite the history that is trained on.
 * - Nothing is fetched at start: the switches below, and a plugin package that
 *   looks installed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/agent/agent.h"
#include "controller/sandbox/sandbox.h"
#include "shared/json_scan.h"
#include "shared/json_text.h"
#include "shared/limits.h"
#include "shared/mem.h"

#define VERSION  "1.18.33" /* of the plugin package that looks installed */
#define PROVIDER "intercepted"

#define CONFIG_DIR SANDBOX_HOME "/.config/opencode"
#define LOG_DIR    SANDBOX_HOME "/logs/agent"
#define LOG        LOG_DIR "/opencode.jsonl"
#define STDERR     LOG_DIR "/opencode.stderr"

/* What opencode asks for when its limit.output is larger. */
#define OUTPUT_TOKENS 32000

/* A silence longer than this within an answer ends the call. */
#define CHUNK_TIMEOUT_MS (24 * 3600 * 1000)

/* On top of what every job gets. */
static const char *const environment[] = {
	"NO_PROXY=127.0.0.1,localhost,::1",
	"no_proxy=127.0.0.1,localhost,::1",
	"OPENCODE_DISABLE_MODELS_FETCH=1",
	"OPENCODE_DISABLE_AUTOUPDATE=1",
	"OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
	"OPENCODE_DISABLE_LSP_DOWNLOAD=1",
	"OPENCODE_DISABLE_SHARE=1",
	"OPENCODE_DISABLE_EXTERNAL_SKILLS=1",
	"OPENCODE_DISABLE_CLAUDE_CODE=1",
	"OPENCODE_DISABLE_AUTOCOMPACT=1",
	"OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER=1",
	"OPENCODE_PURE=1",
};

static cJSON *add_object(cJSON *object, const char *name)
{
	return cJSON_AddObjectToObject(object, name);
}

/* What the model's entry adds to each request, where no proxy does. */
static void add_request_options(cJSON *model, const struct agent_input *in)
{
	cJSON *options = add_object(model, "options");
	const cJSON *item;

	if (in->disable_thinking)
		cJSON_AddFalseToObject(add_object(options,
						  "chat_template_kwargs"),
				       "enable_thinking");
	cJSON_ArrayForEach(item, in->sampling)
		cJSON_AddItemToObject(options, item->string,
				      cJSON_Duplicate(item, true));
}

static void add_provider(cJSON *config, const struct agent_input *in)
{
	cJSON *provider = add_object(add_object(config, "provider"), PROVIDER);
	cJSON *options, *model, *limit;
	double output =
		in->max_tokens_cap ? (double)in->max_tokens_cap : OUTPUT_TOKENS;

	cJSON_AddStringToObject(provider, "npm", "@ai-sdk/openai-compatible");
	cJSON_AddStringToObject(provider, "name", "octap");
	options = add_object(provider, "options");
	cJSON_AddStringToObject(options, "baseURL", in->base_url);
	cJSON_AddStringToObject(options, "apiKey", in->key);
	cJSON_AddFalseToObject(options, "timeout");
	cJSON_AddFalseToObject(options, "headerTimeout");
	cJSON_AddNumberToObject(options, "chunkTimeout", CHUNK_TIMEOUT_MS);
	model = add_object(add_object(provider, "models"), in->model);
	cJSON_AddStringToObject(model, "name", in->model);
	limit = add_object(model, "limit");
	cJSON_AddNumberToObject(limit, "context", (double)in->context_tokens);
	cJSON_AddNumberToObject(limit, "output", output);
	add_request_options(model, in);
}

/* Else agents that a project defines could take their model from elsewhere. */
static void add_only_provider(cJSON *config)
{
	cJSON_AddItemToArray(cJSON_AddArrayToObject(config,
						    "enabled_providers"),
			     cJSON_CreateString(PROVIDER));
	cJSON_AddArrayToObject(config, "disabled_providers");
}

/* A list of tools means: these and no others. */
static void add_tools(cJSON *config, const struct agent_input *in)
{
	cJSON *tools = add_object(config, "tools");

	if (!in->tools) {
		cJSON_AddFalseToObject(tools, "webfetch");
		cJSON_AddFalseToObject(tools, "question");
		return;
	}
	cJSON_AddFalseToObject(tools, "*");
	for (size_t i = 0; in->tools[i]; i++)
		cJSON_AddTrueToObject(tools, in->tools[i]);
}

/* Objects are merged, anything else is replaced. */
static void merge(cJSON *into, const cJSON *from)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, from) {
		cJSON *old =
			cJSON_GetObjectItemCaseSensitive(into, item->string);

		if (cJSON_IsObject(old) && cJSON_IsObject(item)) {
			merge(old, item);
			continue;
		}
		cJSON_DeleteItemFromObjectCaseSensitive(into, item->string);
		cJSON_AddItemToObject(into, item->string,
				      cJSON_Duplicate(item, true));
	}
}

static cJSON *make_config(const struct agent_input *in)
{
	cJSON *config = cJSON_CreateObject();
	char *model = xasprintf(PROVIDER "/%s", in->model);
	cJSON *permission, *compaction;

	cJSON_AddStringToObject(config, "$schema",
				"https://opencode.ai/config.json");
	cJSON_AddFalseToObject(config, "autoupdate");
	cJSON_AddStringToObject(config, "share", "disabled");
	cJSON_AddFalseToObject(config, "snapshot");
	cJSON_AddStringToObject(config, "model", model);
	cJSON_AddStringToObject(config, "small_model", model);
	free(model);
	add_only_provider(config);
	add_provider(config, in);
	add_tools(config, in);
	permission = add_object(config, "permission");
	cJSON_AddStringToObject(permission, "external_directory", "allow");
	cJSON_AddStringToObject(permission, "doom_loop", "allow");
	compaction = add_object(config, "compaction");
	cJSON_AddFalseToObject(compaction, "auto");
	cJSON_AddFalseToObject(compaction, "prune");
	if (in->system_prompt)
		cJSON_AddStringToObject(add_object(add_object(config, "agent"),
						   "build"),
					"prompt", in->system_prompt);
	merge(config, in->extra_config);
	return config;
}

/* Each "{" within a string becomes \u007b; the rest stays. */
static char *escape_braces(const char *json)
{
	char *escaped = xmalloc(strlen(json) * 6 + 1), *out = escaped;
	bool in_string = false;

	for (const char *p = json; *p; p++) {
		if (*p == '"')
			in_string = !in_string;
		if (in_string && *p == '{') {
			memcpy(out, "\\u007b", 6);
			out += 6;
			continue;
		}
		*out++ = *p;
		if (in_string && *p == '\\' && p[1])
			*out++ = *++p;
	}
	*out = '\0';
	return escaped;
}

static char *print_config(const struct agent_input *in)
{
	cJSON *config = make_config(in);
	char *json = cJSON_PrintUnformatted(config);
	char *escaped = escape_braces(json);

	cJSON_free(json);
	cJSON_Delete(config);
	return escaped;
}

/* opencode would install this package at start, and only looks for these. */
static void add_plugin_files(struct agent_plan *plan)
{
	agent_plan_file(plan, CONFIG_DIR "/package.json",
			xstrdup("{\"dependencies\":{\"@opencode-ai/plugin\":"
				"\"" VERSION "\"}}"));
	agent_plan_file(plan, CONFIG_DIR "/package-lock.json",
			xstrdup("{\"lockfileVersion\":3,\"packages\":{\"\":{"
				"\"dependencies\":{\"@opencode-ai/plugin\":"
				"\"" VERSION "\"}}}}"));
	agent_plan_file(plan, CONFIG_DIR "/node_modules/.keep", xstrdup(""));
	agent_plan_file(plan, LOG_DIR "/.keep", xstrdup(""));
}

static bool plan_opencode(const struct agent_input *in, struct agent_plan *plan,
			  struct error *err)
{
	char *binary, *model, *full_model, *config = print_config(in);

	if (strlen(config) >= LIMIT_COMMAND_TEXT) {
		free(config);
		return error_set(err, ERROR_USAGE,
				 "system_prompt and extra_opencode_json are "
				 "together longer than %u bytes",
				 LIMIT_COMMAND_TEXT);
	}
	binary = agent_quote(in->binary);
	*plan = (struct agent_plan){ 0 };
	for (size_t i = 0; i < ARRAY_LEN(environment); i++)
		agent_plan_env(plan, xstrdup(environment[i]));
	agent_plan_env(plan, xasprintf("OPENCODE_CONFIG_CONTENT=%s", config));
	add_plugin_files(plan);
	full_model = xasprintf(PROVIDER "/%s", in->model);
	model = agent_quote(full_model);
	plan->command =
		xasprintf("exec %s run --format json --title task "
			  "--model %s%s < %s > %s 2> %s",
			  binary, model, in->auto_approve ? " --auto" : "",
			  AGENT_INSTRUCTION, LOG, STDERR);
	free(full_model);
	free(model);
	free(binary);
	free(config);
	return true;
}

/* {"type":"error","error":{"name":"ContextOverflowError",...},...} */
static bool is_overflow(struct span line)
{
	struct json_value type, error, name;

	return json_find(line, "type", &type) &&
	       json_string_is(type, "error") &&
	       json_find(line, "error", &error) &&
	       json_find(error.text, "name", &name) &&
	       json_string_is(name, "ContextOverflowError");
}

static enum agent_stop stop_of_log(struct span log, int exit_code)
{
	while (log.len) {
		const char *end = memchr(log.data, '\n', log.len);
		size_t len = end ? (size_t)(end - log.data) : log.len;

		if (is_overflow(span_from(log.data, len)))
			return AGENT_STOP_CONTEXT;
		log = span_after(log, end ? len + 1 : len);
	}
	return exit_code ? AGENT_STOP_ERROR : AGENT_STOP_DONE;
}

const struct agent_spec agent_opencode = {
	.name = "opencode",
	.log_path = LOG,
	.stderr_path = STDERR,
	.plan = plan_opencode,
	.stop_of_log = stop_of_log,
};
