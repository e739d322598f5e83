#ifndef CONTROLLER_CMD_CMD_H
#define CONTROLLER_CMD_CMD_H

#include "shared/options.h"

/*
 * A subcommand of octap.  `run` gets the command line from the subcommand's
 * name on and returns the exit code.
 */
struct command {
	const char *name;
	const char *summary;
	const struct option_table *options;
	int (*run)(int argc, char **argv);
};

extern const struct command cmd_run, cmd_replay, cmd_trace;

/* Exit codes, as octap.1 has them. */
enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,       /* ours, the sandbox's or the network's fault */
	EXIT_USAGE = 2,        /* command line or task */
	EXIT_AGENT_FAILED = 3, /* the agent's own non-zero exit */
	EXIT_TIMED_OUT = 4,    /* the agent used up its time */
	EXIT_CANCELLED = 130,  /* SIGINT, SIGTERM or SIGHUP */
};

/*
 * Parse a subcommand's options; an empty text is refused.  False: it is over,
 * with exit code *code (--help was answered, or the command line is wrong and
 * that was said).
 */
bool cmd_parse(const struct option_table *table, void *target, int argc,
	       char **argv, char ***operands, int *code) MUST_USE;

/*
 * May this file be opened?  A named pipe could make us wait for ever; one that
 * the shell made ("<(...)") is fine.
 */
bool cmd_check_file(const char *path, struct error *err) MUST_USE;

/* Say what is wrong, secrets masked; returns the code. */
int cmd_fail(struct error *err, int code);

#endif
