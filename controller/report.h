#ifndef CONTROLLER_REPORT_H
#define CONTROLLER_REPORT_H

#include <stdio.h>

#include "controller/out_dir.h"
#include "controller/result.h"

/*
 * A finished rollout as a page of text for a person: reward and outcome, the
 * phases with their times, each turn, where the files are.
 */
void report_print(FILE *stream, const struct result *result,
		  const struct out_dir *out);

/* The table of turns alone. */
void report_print_turns(FILE *stream, const struct trace_summary *trace);

#endif
