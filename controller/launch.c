/* What is written and started. */
#include "controller/launch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/id.h"
#include "shared/mem.h"

/* The model's window as opencode is told: it only matters for compaction,
 * which is off. */
#define CONTEXT_TOKENS 131072

#define CLIENT_KEY_BYTES 24

struct option_list_builder {
	char **items;
	size_t count;
};

static void add(struct option_list_builder *list, char *text)
{
	list->items = xrealloc_array(list->items, list->count + 2,
				     sizeof(*list->items));
	list->items[list->count++] = text;
	list->items[list->count] = NULL;
}

static void add_text(struct option_list_builder *list, const char *name,
		     const char *value)
{
	if (value)
		add(list, xasprintf("--%s=%s", name, value));
}

static void add_number(struct option_list_builder *list, const char *name,
		       uint64_t value)
{
	if (value)
		add(list, xasprintf("--%s=%" PRIu64, name, value));
}

char *launch_client_key(struct error *err)
{
	unsigned char bytes[CLIENT_KEY_BYTES];
	char text[2 * CLIENT_KEY_BYTES + 1];

	if (!random_bytes(bytes, sizeof(bytes), err))
		return NULL;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return xasprintf("sk-octap-%s", text);
}

char **launch_proxy_options(const struct rollout_spec *spec)
{
	struct option_list_builder list = { 0 };

	add_text(&list, "upstream-url", spec->endpoint->base_url);
	add_text(&list, "rollout-id", spec->id);
	add_text(&list, "model-override", spec->endpoint->model);
	add_text(&list, "token-ids", spec->endpoint->token_ids);
	add(&list, xasprintf("--top-logprobs=%" PRIu64, spec->top_logprobs));
	add_number(&list, "max-tokens-cap", spec->max_tokens_cap);
	add_number(&list, "max-turns", spec->max_turns);
	add_text(&list, "sampling", spec->sampling);
	if (spec->disable_thinking)
		add(&list, xstrdup("--disable-thinking"));
	return list.items;
}

void launch_free_options(char **options)
{
	for (size_t i = 0; options && options[i]; i++)
		free(options[i]);
	free(options);
}

bool launch_agent_plan(const struct rollout_spec *spec, unsigned port,
		       const char *client_key, struct agent_plan *plan,
		       struct error *err)
{
	bool direct = spec->mode == ROLLOUT_BLACK_BOX;
	char *proxy_url = xasprintf("http://127.0.0.1:%u/v1", port);
	cJSON *sampling =
		direct && spec->sampling ? cJSON_Parse(spec->sampling) : NULL;
	const struct agent_input input = {
		.binary = SANDBOX_AGENT_PATH,
		.base_url = direct ? spec->endpoint->base_url : proxy_url,
		.key = direct ? spec->endpoint->key : client_key,
		.model = spec->endpoint->model,
		.system_prompt = spec->task->system_prompt,
		.tools = spec->task->tools,
		.extra_config = spec->task->extra_config,
		.auto_approve = spec->auto_approve,
		.max_tokens_cap = spec->max_tokens_cap,
		.context_tokens = CONTEXT_TOKENS,
		.disable_thinking = direct && spec->disable_thinking,
		.sampling = sampling,
	};
	bool ok = spec->agent->plan(&input, plan, err);

	cJSON_Delete(sampling);
	free(proxy_url);
	return ok;
}

void launch_fill_stage(const struct rollout_spec *spec,
		       const struct agent_plan *plan, struct stage *stage)
{
	const struct task *task = spec->task;

	stage_fresh_dir(stage, TASK_WORKDIR);
	stage_file(stage, AGENT_INSTRUCTION, span_of(task->instruction), false);
	for (size_t i = 0; i < plan->file_count; i++)
		stage_file(stage, plan->files[i].path,
			   span_of(plan->files[i].text), false);
	for (size_t i = 0; i < task->file_count; i++)
		stage_file(stage, task->files[i].path,
			   span_from(task->files[i].content,
				     task->files[i].len),
			   task->files[i].executable);
}
