#ifndef CONTROLLER_TERMINAL_H
#define CONTROLLER_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Colours and the like: only on a terminal, and not when NO_COLOR is set
 * (https://no-color.org).
 */
enum colour {
	COLOUR_NONE,
	COLOUR_BOLD,
	COLOUR_DIM,
	COLOUR_RED,
	COLOUR_GREEN,
	COLOUR_YELLOW,
	COLOUR_COUNT,
};

bool terminal_has_colour(FILE *stream);

/* The sequence that begins / ends it; "" where there is to be none. */
const char *terminal_begin(FILE *stream, enum colour colour);
const char *terminal_end(FILE *stream);

/*
 * Text from elsewhere, for a person's eyes: control characters become visible
 * escapes, so that no output of an agent drives the terminal.
 */
void terminal_print(FILE *stream, const char *text, size_t len);

/* The same for a name, which is to stay on its line. */
void terminal_print_name(FILE *stream, const char *name);

#endif
