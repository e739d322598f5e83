#ifndef TESTS_FAKE_AGENT_CONFIG_H
#define TESTS_FAKE_AGENT_CONFIG_H

#include <cjson/cJSON.h>
#include <stdbool.h>

/*
 * What the fake agent takes from opencode's configuration: where the model is
 * and what each request holds.
 */
struct agent_config {
	cJSON *json; /* all of it; the rest borrows */
	const char *base_url, *key;
	const char *full_model, *model; /* with and without its provider */
	const char *system_prompt;      /* NULL: its own */
	double max_tokens;
	const cJSON *request_options; /* members of each request, or NULL */
};

/* From OPENCODE_CONFIG_CONTENT; false: it is not usable. */
bool agent_config_load(struct agent_config *config);

/* Is the tool offered to the model? */
bool agent_config_has_tool(const struct agent_config *config, const char *tool);

void agent_config_release(struct agent_config *config);

#endif
