#ifndef CONTROLLER_REPLAY_H
#define CONTROLLER_REPLAY_H

#include <stdint.h>

#include "shared/compiler.h"
#include "shared/error.h"

/*
 * An OpenAI-compatible server that answers from a trace: to debug a recorded
 * rollout without a model, or to show one.
 *
 * A call gets the answer of the first turn of the same kind (agent, title,
 * subagent ...) that was not given out yet; turns whose answer was not complete
 * are passed over.  A call for which none is left gets 404.  Log-probabilities
 * and ids are given to who asks for them.
 */
struct replay;
struct loop;

struct replay_spec {
	const char *trace_path;
	const char *host;
	uint64_t port;
	uint64_t token_interval_ms; /* pause for each token; 0: none */
};

struct replay *replay_open(struct loop *loop, const struct replay_spec *spec,
			   struct error *err);
unsigned replay_port(const struct replay *replay);
uint64_t replay_turns(const struct replay *replay);

/* Ends what is under way. */
void replay_close(struct replay *replay);

#endif
