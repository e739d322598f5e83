#ifndef CONTROLLER_TRACE_SUMMARY_H
#define CONTROLLER_TRACE_SUMMARY_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/turn.h"

/*
 * A trace file as numbers: a line for each turn, and totals.
 */
struct turn_line {
	uint64_t number;
	enum turn_kind kind;
	enum token_status token_status;
	char finish_reason[24]; /* "" if none */
	uint64_t tokens;        /* of choice 0: log-probabilities or else ids */
	double mean_logprob;    /* over those; meaningless without any */
	bool has_logprobs;
	unsigned upstream_status;   /* 0: no answer */
	char upstream_message[200]; /* the beginning of what it said then */
	char abort_reason[200];     /* likewise; "" when complete */
	bool overflow; /* it refused because the model's window is full */
	bool complete, delivered;
	uint64_t latency_us, ttft_us;
	cJSON *json; /* of proxy_turns, if asked for; owned by that array */
};

struct trace_summary {
	struct turn_line *turns;
	size_t count;
	uint64_t prompt_tokens, completion_tokens; /* as the servers said */
	uint64_t exact;     /* turns with token_status exact */
	bool truncated;     /* the file ends in the middle of a record */
	cJSON *proxy_turns; /* array by number, as in the result, or NULL */
};

/* A file that is not there counts as one without turns. */
bool trace_summary_load(struct trace_summary *summary, const char *path,
			bool with_proxy_turns, struct error *err) MUST_USE;
void trace_summary_release(struct trace_summary *summary);

/* The line of one turn. */
void turn_line_make(const struct turn *turn, struct turn_line *line);

#endif
