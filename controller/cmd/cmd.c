/* What all subcommands share. */
#include "controller/cmd/cmd.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "shared/log.h"

int cmd_fail(struct error *err, int code)
{
	log_masked(err->text);
	fprintf(stderr, "octap: %s\n", err->text);
	return code;
}

bool cmd_check_file(const char *path, struct error *err)
{
	struct stat status;

	if (!strncmp(path, "/dev/", 5) || !strncmp(path, "/proc/", 6) ||
	    stat(path, &status) < 0 || !S_ISFIFO(status.st_mode))
		return true;
	return error_set(err, ERROR_USAGE, "%s is a named pipe, not a file",
			 path);
}

/* Nowhere has an empty text a meaning of its own. */
static bool has_empty(const struct option_entry *e, const void *target)
{
	const char *at = (const char *)target + e->offset;
	struct option_list list = { NULL, 0 };
	const char *text = NULL;
	bool found;

	if (e->type == OPTION_TEXT)
		memcpy(&text, at, sizeof(text));
	else if (e->type == OPTION_LIST)
		memcpy(&list, at, sizeof(list));
	found = text && !*text;
	for (size_t i = 0; i < list.count; i++)
		found |= !*list.items[i];
	return found;
}

static bool check_texts(const struct option_table *table, const void *target,
			struct error *err)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct option_entry *e = &table->entries[i];

		if (has_empty(e, target))
			return error_set(err, ERROR_USAGE,
					 "--%s must be a text that is not "
					 "empty",
					 e->name);
	}
	return true;
}

bool cmd_parse(const struct option_table *table, void *target, int argc,
	       char **argv, char ***operands, int *code)
{
	struct error err = ERROR_INIT;

	switch (options_parse(table, target, argc, argv, operands, &err)) {
	case OPTIONS_OK:
		if (check_texts(table, target, &err))
			return true;
		*code = cmd_fail(&err, EXIT_USAGE);
		break;
	case OPTIONS_DONE:
		*code = EXIT_OK;
		break;
	case OPTIONS_BAD:
		*code = cmd_fail(&err, EXIT_USAGE);
		break;
	}
	return false;
}
