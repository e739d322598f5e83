#ifndef SHARED_OPTIONS_H
#define SHARED_OPTIONS_H

#include <stdint.h>

#include "shared/compiler.h"
#include "shared/error.h"

/*
 * Command lines by table: one entry per option carries its name, which member
 * of the program's own struct takes the value, its bounds, the environment
 * variable that stands in for it and its help text.  Long options only, by the
 * GNU rules (getopt_long): `--name value`, `--name=value`, unique
 * abbreviations, options and operands in any order, `--` ends the options.
 */
enum option_type {
	OPTION_HEADING, /* no option: a line of help between groups */
	OPTION_FLAG,    /* bool: true when given */
	OPTION_SWITCH,  /* enum option_switch: --name / --no-name */
	OPTION_TEXT,    /* const char * */
	OPTION_CHOICE,  /* const char *, one of `choices` */
	OPTION_NUMBER,  /* uint64_t */
	OPTION_SECONDS, /* uint64_t milliseconds; given in seconds, "1.5" */
	OPTION_LIST,    /* struct option_list: may be given again and again */
};

enum option_switch { SWITCH_UNSET, SWITCH_ON, SWITCH_OFF };

struct option_list {
	const char **items; /* freed by option_list_release */
	size_t count;
};

struct option_entry {
	const char *name;
	const char *env; /* NULL: none; the command line wins */
	enum option_type type;
	size_t offset;    /* of the member in the target struct */
	uint64_t minimum; /* NUMBER and SECONDS (then in ms) */
	uint64_t maximum;
	const char *const *choices; /* NULL-terminated */
	const char *argument;       /* "N", "FILE" */
	const char *help;
};

/* The beginning of an entry: OPTION("port", TEXT, struct config, port), ... */
#define OPTION(option_name, option_kind, target, member)     \
	.name = (option_name), .type = OPTION_##option_kind, \
	.offset = offsetof(target, member)

struct option_table {
	const char *usage;      /* "octap-proxy [OPTION]..." */
	const char *summary;    /* a sentence or two */
	const char *examples;   /* lines, ready to print */
	const char *exit_codes; /* lines, ready to print */
	const struct option_entry *entries;
	size_t count;
};

enum options_result {
	OPTIONS_OK,
	OPTIONS_DONE, /* --help or --version was answered: exit 0 */
	OPTIONS_BAD,  /* see the error: exit 2 */
};

/*
 * Parse argv[1..] into `target`, which holds the defaults before; operands are
 * moved to the end and *operands is set to the first of them (argv's own NULL
 * ends them).  Texts borrow from argv and the environment.
 */
enum options_result options_parse(const struct option_table *table,
				  void *target, int argc, char **argv,
				  char ***operands, struct error *err) MUST_USE;

/* The usage text, as --help prints it on stdout. */
void options_print_help(const struct option_table *table);

void option_list_release(struct option_list *list);

#endif
