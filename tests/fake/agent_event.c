/* Printing events. */
#include "tests/fake/agent_event.h"

#include <stdio.h>

#include "shared/clock.h"

static void print(const char *type, const char *member, cJSON *value)
{
	cJSON *event = cJSON_CreateObject();
	char *line;

	cJSON_AddStringToObject(event, "type", type);
	cJSON_AddNumberToObject(event, "timestamp",
				(double)(clock_wall_us() / 1000));
	cJSON_AddStringToObject(event, "sessionID", AGENT_SESSION);
	cJSON_AddItemToObject(event, member, value);
	line = cJSON_PrintUnformatted(event);
	puts(line);
	fflush(stdout);
	cJSON_free(line);
	cJSON_Delete(event);
}

static cJSON *new_part(const char *type)
{
	cJSON *part = cJSON_CreateObject();

	cJSON_AddStringToObject(part, "sessionID", AGENT_SESSION);
	cJSON_AddStringToObject(part, "type", type);
	return part;
}

void agent_event_step_start(void)
{
	print("step_start", "part", new_part("step-start"));
}

void agent_event_step_finish(const char *reason)
{
	cJSON *part = new_part("step-finish");

	cJSON_AddStringToObject(part, "reason", reason);
	print("step_finish", "part", part);
}

void agent_event_text(const char *text)
{
	cJSON *part = new_part("text");

	cJSON_AddStringToObject(part, "text", text);
	print("text", "part", part);
}

void agent_event_tool(const char *tool, const char *call_id, cJSON *input,
		      const char *output, int exit_code)
{
	cJSON *part = new_part("tool");
	cJSON *state = cJSON_AddObjectToObject(part, "state");

	cJSON_AddStringToObject(part, "tool", tool);
	cJSON_AddStringToObject(part, "callID", call_id);
	cJSON_AddStringToObject(state, "status", "completed");
	cJSON_AddItemToObject(state, "input", input);
	cJSON_AddStringToObject(state, "output", output);
	cJSON_AddNumberToObject(cJSON_AddObjectToObject(state, "metadata"),
				"exit", exit_code);
	print("tool_use", "part", part);
}

void agent_event_error(const char *name, const char *message, cJSON *data)
{
	cJSON *error = cJSON_CreateObject();

	if (!data)
		data = cJSON_CreateObject();
	cJSON_AddStringToObject(data, "message", message);
	cJSON_AddStringToObject(error, "name", name);
	cJSON_AddItemToObject(error, "data", data);
	print("error", "error", error);
}
