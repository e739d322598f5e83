#ifndef TESTS_FAKE_AGENT_CALL_H
#define TESTS_FAKE_AGENT_CALL_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "tests/fake/agent_config.h"

/*
 * One streaming model call with opencode's headers and body, its answer put
 * together.  A call that fails prints the error event that opencode prints.
 */
enum agent_call_kind {
	AGENT_CALL_MAIN,
	AGENT_CALL_TITLE,
	AGENT_CALL_SUB,
};

struct agent_call {
	const struct agent_config *config;
	enum agent_call_kind kind;
	const char *instruction; /* the user message */
	const cJSON *history;    /* messages after it; array, or NULL */
};

struct agent_answer {
	char *text;
	cJSON *tool_calls;      /* array, as a message holds them */
	char finish_reason[32]; /* empty: there was none */
};

/* False: it failed, the event is printed, there is nothing to release. */
bool agent_call_make(const struct agent_call *call,
		     struct agent_answer *answer);

void agent_answer_release(struct agent_answer *answer);

#endif
