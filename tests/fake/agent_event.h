#ifndef TESTS_FAKE_AGENT_EVENT_H
#define TESTS_FAKE_AGENT_EVENT_H

#include <cjson/cJSON.h>

/*
 * The lines that opencode prints with --format json:
 *
 *	{"type":"text","timestamp":1,"sessionID":"ses_...","part":{...}}
 *
 * Objects that are passed in are taken over.
 */
#define AGENT_SESSION     "ses_main"
#define AGENT_SUB_SESSION "ses_sub"

void agent_event_step_start(void);
void agent_event_step_finish(const char *reason);
void agent_event_text(const char *text);
void agent_event_tool(const char *tool, const char *call_id, cJSON *input,
		      const char *output, int exit_code);

/* `data` may be NULL. */
void agent_event_error(const char *name, const char *message, cJSON *data);

#endif
