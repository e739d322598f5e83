/* Option tables over getopt_long. */
#include "shared/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/mem.h"
#include "shared/span.h"
#include "shared/version.h"

#define HELP_COLUMN 30

enum {
	CODE_HELP = 256,
	CODE_VERSION,
	CODE_ENTRY,             /* + index */
	CODE_NEGATED = 1 << 16, /* + CODE_ENTRY + index: --no-NAME */
};

static void *member_of(void *target, const struct option_entry *e)
{
	return (char *)target + e->offset;
}

static bool takes_value(const struct option_entry *e)
{
	return e->type != OPTION_FLAG && e->type != OPTION_SWITCH;
}

static bool bad_value(const struct option_entry *e, const char *text,
		      const char *expected, struct error *err)
{
	return error_set(err, ERROR_USAGE, "--%s: '%s' is not %s", e->name,
			 text, expected);
}

static bool set_number(const struct option_entry *e, void *target,
		       const char *text, uint64_t number, struct error *err)
{
	double unit = e->type == OPTION_SECONDS ? 1000 : 1;

	if (number < e->minimum || number > e->maximum)
		return error_set(err, ERROR_USAGE,
				 "--%s: %s is not between %.15g and %.15g",
				 e->name, text, (double)e->minimum / unit,
				 (double)e->maximum / unit);
	*(uint64_t *)member_of(target, e) = number;
	return true;
}

/* "12", "0.25": milliseconds, no more than three decimals looked at. */
static bool parse_seconds(struct span text, uint64_t *ms)
{
	const char *dot = memchr(text.data, '.', text.len);
	struct span whole = text;
	uint64_t seconds = 0;
	uint64_t fraction = 0;
	unsigned weight = 100;

	if (dot)
		whole.len = (size_t)(dot - text.data);
	if (!span_to_u64(whole, &seconds) || seconds > UINT32_MAX)
		return false;
	for (const char *p = dot ? dot + 1 : text.data + text.len;
	     p < text.data + text.len; p++) {
		if (*p < '0' || *p > '9')
			return false;
		fraction += weight * (unsigned)(*p - '0');
		weight /= 10;
	}
	*ms = seconds * 1000 + fraction;
	return true;
}

static bool set_choice(const struct option_entry *e, void *target,
		       const char *text, struct error *err)
{
	char known[160] = "";

	for (size_t i = 0; e->choices[i]; i++) {
		size_t len = strlen(known);

		if (!strcmp(e->choices[i], text)) {
			*(const char **)member_of(target, e) = text;
			return true;
		}
		snprintf(known + len, sizeof(known) - len, "%s%s",
			 i ? ", " : "one of ", e->choices[i]);
	}
	return bad_value(e, text, known, err);
}

static void add_to_list(struct option_list *list, const char *text)
{
	list->items = xrealloc_array(list->items, list->count + 1,
				     sizeof(*list->items));
	list->items[list->count++] = text;
}

void option_list_release(struct option_list *list)
{
	free(list->items);
	*list = (struct option_list){ 0 };
}

static bool set_value(const struct option_entry *e, void *target,
		      const char *text, struct error *err)
{
	void *member = member_of(target, e);
	uint64_t number;

	switch (e->type) {
	case OPTION_HEADING:
		break;
	case OPTION_FLAG:
		*(bool *)member = true;
		break;
	case OPTION_SWITCH:
		*(enum option_switch *)member = SWITCH_ON;
		break;
	case OPTION_TEXT:
		*(const char **)member = text;
		break;
	case OPTION_CHOICE:
		return set_choice(e, target, text, err);
	case OPTION_NUMBER:
		if (!span_to_u64(span_of(text), &number))
			return bad_value(e, text, "a whole number", err);
		return set_number(e, target, text, number, err);
	case OPTION_SECONDS:
		if (!parse_seconds(span_of(text), &number))
			return bad_value(e, text, "a number of seconds", err);
		return set_number(e, target, text, number, err);
	case OPTION_LIST:
		add_to_list(member, text);
		break;
	}
	return true;
}

/* What stands in an environment variable, unless it is empty. */
static bool set_from_environment(const struct option_entry *e, void *target,
				 struct error *err)
{
	const char *text = e->env ? getenv(e->env) : NULL;

	if (!text || !*text)
		return true;
	if (!takes_value(e) && (!strcmp(text, "0") || !strcmp(text, "false"))) {
		if (e->type == OPTION_SWITCH)
			*(enum option_switch *)member_of(target, e) =
				SWITCH_OFF;
		return true;
	}
	if (!set_value(e, target, text, err))
		return error_wrap(err, "environment variable %s", e->env);
	return true;
}

struct long_names {
	struct option *options; /* getopt's */
	char **negated;         /* "no-NAME", freed here */
	size_t count;
};

static void add_name(struct long_names *names, const char *name, int has_arg,
		     int code)
{
	names->options[names->count++] =
		(struct option){ name, has_arg, NULL, code };
}

static struct long_names names_new(const struct option_table *table)
{
	struct long_names names = {
		.options =
			xcalloc(2 * table->count + 3, sizeof(*names.options)),
		.negated = xcalloc(table->count, sizeof(*names.negated)),
	};

	add_name(&names, "help", no_argument, CODE_HELP);
	add_name(&names, "version", no_argument, CODE_VERSION);
	for (size_t i = 0; i < table->count; i++) {
		const struct option_entry *e = &table->entries[i];

		if (e->type == OPTION_HEADING)
			continue;
		add_name(&names, e->name,
			 takes_value(e) ? required_argument : no_argument,
			 CODE_ENTRY + (int)i);
		if (e->type != OPTION_SWITCH)
			continue;
		names.negated[i] = xasprintf("no-%s", e->name);
		add_name(&names, names.negated[i], no_argument,
			 CODE_NEGATED + CODE_ENTRY + (int)i);
	}
	return names;
}

static void names_release(struct long_names *names,
			  const struct option_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(names->negated[i]);
	free(names->negated);
	free(names->options);
}

static void print_version(const struct option_table *table)
{
	int len = (int)strcspn(table->usage, " ");

	printf("%.*s " OCTAP_VERSION "\n", len, table->usage);
}

static enum options_result unknown_option(int code, char **argv,
					  struct error *err)
{
	/* The word that getopt stumbled over, unless it was a letter. */
	const char *word = argv[optind - 1];

	if (code == ':')
		error_set(err, ERROR_USAGE, "%s needs a value", word);
	else if (optopt && optopt < CODE_HELP)
		error_set(err, ERROR_USAGE, "-%c is not an option: see --help",
			  optopt);
	else /* What is after the = may be a key. */
		error_set(err, ERROR_USAGE,
			  "%.*s is not an option, or needs no value, or is "
			  "short for several: see --help",
			  (int)strcspn(word, "="), word);
	return OPTIONS_BAD;
}

static enum options_result parse_words(const struct option_table *table,
				       void *target, const struct option *names,
				       int argc, char **argv, bool *seen,
				       struct error *err)
{
	int code;

	optind = 0; /* 0, not 1: glibc then starts afresh */
	opterr = 0;
	while ((code = getopt_long(argc, argv, ":", names, NULL)) != -1) {
		size_t i = (size_t)(code & (CODE_NEGATED - 1)) - CODE_ENTRY;

		if (code == CODE_HELP) {
			options_print_help(table);
			return OPTIONS_DONE;
		}
		if (code == CODE_VERSION) {
			print_version(table);
			return OPTIONS_DONE;
		}
		if (code < CODE_HELP)
			return unknown_option(code, argv, err);
		seen[i] = true;
		if (!set_value(&table->entries[i], target, optarg, err))
			return OPTIONS_BAD;
		if (code >= CODE_NEGATED)
			*(enum option_switch *)member_of(
				target, &table->entries[i]) = SWITCH_OFF;
	}
	return OPTIONS_OK;
}

enum options_result options_parse(const struct option_table *table,
				  void *target, int argc, char **argv,
				  char ***operands, struct error *err)
{
	struct long_names names = names_new(table);
	bool *seen = xcalloc(table->count, sizeof(*seen));
	enum options_result result;

	result = parse_words(table, target, names.options, argc, argv, seen,
			     err);
	for (size_t i = 0; i < table->count && result == OPTIONS_OK; i++)
		if (!seen[i] &&
		    !set_from_environment(&table->entries[i], target, err))
			result = OPTIONS_BAD;
	*operands = argv + optind;
	names_release(&names, table);
	free(seen);
	return result;
}

/* The help text, wrapped at 79 columns behind the option's column. */
static void print_wrapped(const char *text, int column)
{
	while (*text) {
		size_t room = (size_t)(79 - HELP_COLUMN);
		size_t len = strlen(text);

		if (column > HELP_COLUMN - 2) {
			putchar('\n');
			column = 0;
		}
		if (len > room) {
			len = room;
			while (len && text[len] != ' ')
				len--;
			if (!len)
				len = room;
		}
		printf("%*s%.*s", HELP_COLUMN - column, "", (int)len, text);
		text += len;
		while (*text == ' ')
			text++;
		putchar('\n');
		column = 0;
	}
}

static void print_entry(const struct option_entry *e)
{
	char text[400];
	int column;

	if (e->type == OPTION_HEADING) {
		printf("\n%s\n", e->help);
		return;
	}
	column = printf("  --%s%s%s%s", e->type == OPTION_SWITCH ? "[no-]" : "",
			e->name, e->argument ? " " : "",
			e->argument ? e->argument : "");
	snprintf(text, sizeof(text), "%s%s%s%s", e->help,
		 e->env ? " [environment: " : "", e->env ? e->env : "",
		 e->env ? "]" : "");
	print_wrapped(text, column);
}

void options_print_help(const struct option_table *table)
{
	printf("Usage: %s\n\n%s\n", table->usage, table->summary);
	if (table->entries[0].type != OPTION_HEADING)
		printf("\nOptions:\n");
	for (size_t i = 0; i < table->count; i++)
		print_entry(&table->entries[i]);
	printf("\n  --help%*sshow this text\n", HELP_COLUMN - 8, "");
	printf("  --version%*sshow the version\n", HELP_COLUMN - 11, "");
	if (table->examples)
		printf("\nExamples:\n%s", table->examples);
	if (table->exit_codes)
		printf("\nExit status:\n%s", table->exit_codes);
}
