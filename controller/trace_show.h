#ifndef CONTROLLER_TRACE_SHOW_H
#define CONTROLLER_TRACE_SHOW_H

#include <stdio.h>

#include "shared/turn.h"

/*
 * One turn in full, for a person: what was asked last, what was answered token
 * by token (coloured by log-probability on a terminal), how it was sampled.
 */
void trace_show_turn(FILE *stream, const struct turn *turn);

#endif
