/* Reading opencode's configuration. */
#include "tests/fake/agent_config.h"

#include <stdlib.h>
#include <string.h>

#include "shared/mem.h"

/* opencode never asks for more. */
#define MOST_TOKENS 32000

static const cJSON *member(const cJSON *object, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const char *text(const cJSON *object, const char *name)
{
	return cJSON_GetStringValue(member(object, name));
}

static bool read_model(struct agent_config *c, const cJSON *model)
{
	const cJSON *output = member(member(model, "limit"), "output");

	if (!cJSON_IsObject(model) || !cJSON_IsNumber(output))
		return false;
	c->max_tokens = output->valuedouble < MOST_TOKENS ? output->valuedouble
							  : MOST_TOKENS;
	c->request_options = member(model, "options");
	return true;
}

static bool read_provider(struct agent_config *c, const cJSON *provider)
{
	const cJSON *options = member(provider, "options");

	c->base_url = text(options, "baseURL");
	c->key = text(options, "apiKey");
	return c->base_url && c->key &&
	       read_model(c, member(member(provider, "models"), c->model));
}

bool agent_config_load(struct agent_config *c)
{
	const char *content = getenv("OPENCODE_CONFIG_CONTENT");
	const char *slash;
	char *name;
	bool ok;

	*c = (struct agent_config){ .json = content ? cJSON_Parse(content)
						    : NULL };
	c->full_model = text(c->json, "model");
	slash = c->full_model ? strchr(c->full_model, '/') : NULL;
	if (!slash)
		return false;
	c->model = slash + 1;
	c->system_prompt =
		text(member(member(c->json, "agent"), "build"), "prompt");
	name = xstrndup(c->full_model, (size_t)(slash - c->full_model));
	ok = read_provider(c, member(member(c->json, "provider"), name));
	free(name);
	return ok;
}

bool agent_config_has_tool(const struct agent_config *c, const char *tool)
{
	const cJSON *tools = member(c->json, "tools");
	const cJSON *entry = member(tools, tool);

	if (!entry)
		entry = member(tools, "*");
	return !cJSON_IsFalse(entry);
}

void agent_config_release(struct agent_config *c)
{
	cJSON_Delete(c->json);
	*c = (struct agent_config){ 0 };
}
