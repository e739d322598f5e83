/* What all agents share. */
#include "controller/agent/agent.h"

#include <stdlib.h>
#include <string.h>

#include "shared/mem.h"

static const struct agent_spec *const agents[] = {
	&agent_opencode,
};

const struct agent_spec *agent_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(agents); i++)
		if (!strcmp(agents[i]->name, name))
			return agents[i];
	return NULL;
}

void agent_plan_file(struct agent_plan *plan, const char *path, char *text)
{
	plan->files = xrealloc_array(plan->files, plan->file_count + 1,
				     sizeof(*plan->files));
	plan->files[plan->file_count++] =
		(struct agent_file){ xstrdup(path), text };
}

void agent_plan_env(struct agent_plan *plan, char *name_and_value)
{
	size_t count = 0;

	while (plan->env && plan->env[count])
		count++;
	plan->env = xrealloc_array(plan->env, count + 2, sizeof(*plan->env));
	plan->env[count] = name_and_value;
	plan->env[count + 1] = NULL;
}

void agent_plan_release(struct agent_plan *plan)
{
	for (size_t i = 0; i < plan->file_count; i++) {
		free(plan->files[i].path);
		free(plan->files[i].text);
	}
	free(plan->files);
	for (size_t i = 0; plan->env && plan->env[i]; i++)
		free(plan->env[i]);
	free(plan->env);
	free(plan->command);
	*plan = (struct agent_plan){ 0 };
}

char *agent_quote(const char *text)
{
	size_t quotes = 0;
	char *quoted, *out;

	for (const char *p = text; *p; p++)
		quotes += *p == '\'';
	out = quoted = xmalloc(strlen(text) + 3 * quotes + 3);
	*out++ = '\'';
	for (const char *p = text; *p; p++) {
		/* end the quoting, an escaped quote, begin again */
		if (*p == '\'') {
			memcpy(out, "'\\'", 3);
			out += 3;
		}
		*out++ = *p;
	}
	*out++ = '\'';
	*out = '\0';
	return quoted;
}
