#ifndef CONTROLLER_MODEL_END_H
#define CONTROLLER_MODEL_END_H

#include "controller/trace_summary.h"
#include "shared/compiler.h"
#include "shared/error.h"

/*
 * What the model server last said to the agent, as the trace has it: whether an
 * agent that came to a bad end did so of its own doing.  Pure.
 *
 * The last call of the agent or a subagent decides; the last of any kind where
 * there is none.
 */
enum model_end {
	MODEL_END_FINE,     /* it answered, or the agent asked for nothing */
	MODEL_END_OVERFLOW, /* it refused: the model's window is full */
	MODEL_END_FAILED,   /* no answer, a refusal that is not the request's
			       fault, or an answer that broke off */
};

/*
 * Of MODEL_END_FAILED `why` says what the server did and what to do; otherwise
 * it is left alone.  A call that the agent itself gave up says nothing about
 * the server.
 */
enum model_end model_end_of(const struct trace_summary *trace,
			    struct error *why);

#endif
