/* Writing for people. */
#include "controller/terminal.h"

#include <stdlib.h>
#include <unistd.h>

static const char *const sequences[COLOUR_COUNT] = {
	[COLOUR_NONE] = "",          [COLOUR_BOLD] = "\033[1m",
	[COLOUR_DIM] = "\033[2m",    [COLOUR_RED] = "\033[31m",
	[COLOUR_GREEN] = "\033[32m", [COLOUR_YELLOW] = "\033[33m",
};

bool terminal_has_colour(FILE *stream)
{
	const char *no_color = getenv("NO_COLOR");

	return !(no_color && *no_color) && isatty(fileno(stream));
}

const char *terminal_begin(FILE *stream, enum colour colour)
{
	return terminal_has_colour(stream) ? sequences[colour] : "";
}

const char *terminal_end(FILE *stream)
{
	return terminal_has_colour(stream) ? "\033[0m" : "";
}

static void print_byte(FILE *stream, unsigned char c)
{
	if (c >= 0x20 && c != 0x7F)
		putc(c, stream);
	else
		fprintf(stream, "\\x%02x", c);
}

void terminal_print(FILE *stream, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] == '\n' || text[i] == '\t')
			putc(text[i], stream);
		else
			print_byte(stream, (unsigned char)text[i]);
}

void terminal_print_name(FILE *stream, const char *name)
{
	for (; *name; name++)
		print_byte(stream, (unsigned char)*name);
}
