#ifndef CONTROLLER_LAUNCH_H
#define CONTROLLER_LAUNCH_H

#include "controller/agent/agent.h"
#include "controller/rollout.h"
#include "controller/stage.h"
#include "shared/compiler.h"
#include "shared/error.h"

/*
 * From what a rollout was told to what is written and started: the proxy's
 * command line, the files of the sandbox, the agent's plan and environment.
 */

/*
 * A secret for the rollout's own proxy, so that no other rollout can use it.
 * The caller wipes and frees it; NULL on failure.
 */
char *launch_client_key(struct error *err);

/* octap-proxy's options, NULL-terminated; launch_free_options() them. */
char **launch_proxy_options(const struct rollout_spec *spec);
void launch_free_options(char **options);

/*
 * `port`: of the proxy, 0 in black_box mode; `client_key`: what the proxy
 * expects.  In black_box mode the agent gets the endpoint itself, key and all.
 */
bool launch_agent_plan(const struct rollout_spec *spec, unsigned port,
		       const char *client_key, struct agent_plan *plan,
		       struct error *err) MUST_USE;

/* The workdir, the instruction, the agent's and the task's files. */
void launch_fill_stage(const struct rollout_spec *spec,
		       const struct agent_plan *plan, struct stage *stage);

#endif
