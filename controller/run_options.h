#ifndef CONTROLLER_RUN_OPTIONS_H
#define CONTROLLER_RUN_OPTIONS_H

#include <stdint.h>

#include "controller/endpoint.h"
#include "controller/rollout.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/options.h"

/*
 * The options that say how a rollout is run, for every command that runs some.
 */
struct run_options {
	const char *instruction;
	struct option_list setup, verify;
	const char *mode, *sandbox, *agent, *agent_binary;
	struct endpoint_choice endpoint;
	uint64_t max_tokens_cap, max_turns, agent_timeout_ms;
	uint64_t top_logprobs; /* UINT64_MAX: not given */
	enum option_switch disable_thinking, auto_approve;
	const char *sampling;
	const char *on_agent_failure;
	const char *out;
	bool json;
	bool verbose;
};

enum { RUN_OPTION_COUNT = 27 };
extern const struct option_entry run_option_entries[RUN_OPTION_COUNT];

/* What holds where nothing is given. */
struct run_options run_options_default(void);
void run_options_release(struct run_options *options);

/* Nothing is accepted and then ignored: ERROR_USAGE says what does not fit. */
bool run_options_check(const struct run_options *options,
		       struct error *err) MUST_USE;

/*
 * The part of a rollout's spec that the options decide; task, endpoint, host,
 * folders and the agent's file are left to the caller, and the timeout is 0 if
 * the task's is to hold.
 */
struct rollout_spec run_options_spec(const struct run_options *options,
				     const struct endpoint *endpoint);

#endif
