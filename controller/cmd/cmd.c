/* What all subcommands share. */
#include "controller/cmd/cmd.h"

#include <stdio.h>

#include "shared/log.h"

int cmd_fail(struct error *err, int code)
{
	log_masked(err->text);
	fprintf(stderr, "octap: %s\n", err->text);
	return code;
}

bool cmd_parse(const struct option_table *table, void *target, int argc,
	       char **argv, char ***operands, int *code)
{
	struct error err = ERROR_INIT;

	switch (options_parse(table, target, argc, argv, operands, &err)) {
	case OPTIONS_OK:
		return true;
	case OPTIONS_DONE:
		*code = EXIT_OK;
		break;
	case OPTIONS_BAD:
		*code = cmd_fail(&err, EXIT_USAGE);
		break;
	}
	return false;
}
