/* Who is to blame: reading the last turn. */
#include "controller/model_end.h"

#include <string.h>

static const struct turn_line *last_turn(const struct trace_summary *trace)
{
	for (size_t i = trace->count; i > 0; i--)
		if (trace->turns[i - 1].kind == TURN_AGENT ||
		    trace->turns[i - 1].kind == TURN_SUBAGENT)
			return &trace->turns[i - 1];
	return trace->count ? &trace->turns[trace->count - 1] : NULL;
}

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static bool failed_with(struct error *why, enum error_kind kind,
			const struct turn_line *t, const char *remedy)
{
	error_set(why, kind, "the model server answered %u (%.90s): %s",
		  t->upstream_status, t->upstream_message, remedy);
	return true;
}

static bool is_refusal(const struct turn_line *t, struct error *why)
{
	unsigned status = t->upstream_status;

	switch (status) {
	case 401:
	case 403:
		return failed_with(why, ERROR_REFUSED, t,
				   "check the key (--api-key-env)");
	case 402:
		return failed_with(why, ERROR_REFUSED, t,
				   "the key's account has to be paid for");
	case 404:
		return failed_with(why, ERROR_REFUSED, t,
				   "check --base-url and --model");
	case 408:
	case 429:
		return failed_with(why, ERROR_UNAVAILABLE, t,
				   "it is busy, try again later");
	default:
		return status >= 500 &&
		       failed_with(why, ERROR_UNAVAILABLE, t,
				   "see its log, then try again");
	}
}

/* What the proxy says of its own accord begins so. */
static bool is_agents_doing(const struct turn_line *t)
{
	return starts_with(t->abort_reason, "the agent ") ||
	       starts_with(t->abort_reason, "the proxy ");
}

static bool is_no_answer(const struct turn_line *t, struct error *why)
{
	if (t->upstream_status == 0 &&
	    starts_with(t->abort_reason, "upstream")) {
		error_set(why, ERROR_UNAVAILABLE,
			  "the model server gave no answer (%.120s): is it "
			  "running, and --base-url right?",
			  t->abort_reason);
		return true;
	}
	if (t->upstream_status < 200 || t->upstream_status >= 300)
		return false;
	error_set(why, ERROR_UNAVAILABLE,
		  "the model server's answer is not whole (%.120s): see its "
		  "log, then try again",
		  t->abort_reason);
	return true;
}

enum model_end model_end_of(const struct trace_summary *trace,
			    struct error *why)
{
	const struct turn_line *t = last_turn(trace);

	if (!t || t->complete || is_agents_doing(t))
		return MODEL_END_FINE;
	if (t->overflow)
		return MODEL_END_OVERFLOW;
	return is_refusal(t, why) || is_no_answer(t, why) ? MODEL_END_FAILED
							  : MODEL_END_FINE;
}
