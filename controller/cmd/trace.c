/* octap trace: looking at what was recorded. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "controller/cmd/cmd.h"
#include "controller/report.h"
#include "controller/trace_show.h"
#include "controller/trace_summary.h"
#include "shared/trace.h"

struct trace_options {
	uint64_t turn; /* 0: all, as a table */
};

static const struct option_entry entries[] = {
	{
		OPTION("turn", NUMBER, struct trace_options, turn),
		.minimum = 1,
		.maximum = UINT32_MAX,
		.argument = "N",
		.help = "with show: this turn in full",
	},
};

static const struct option_table trace_table = {
	.usage = "octap trace show|stats|cat FILE [OPTION]...",
	.summary = "Look at a trace file (.jsonl or .jsonl.zst):\n"
		   "  show   the turns as a table, or one turn in full\n"
		   "  stats  totals\n"
		   "  cat    the records as JSON lines",
	.examples = "  octap trace show proxy_trace.jsonl.zst\n"
		    "  octap trace show proxy_trace.jsonl.zst --turn 2\n"
		    "  octap trace cat proxy_trace.jsonl.zst | jq "
		    ".token_status\n",
	.exit_codes = "  0  all of the file was read\n"
		      "  1  it is not a trace, or ends in the middle\n"
		      "  2  wrong command line\n",
	.entries = entries,
	.count = ARRAY_LEN(entries),
};

typedef bool line_fn(struct span line, void *arg, struct error *err);

/* Call fn for each record. */
static bool for_each_line(const char *path, line_fn *fn, void *arg,
			  struct error *err)
{
	struct trace_reader *reader = trace_open(path, err);
	bool ok = reader != NULL, more = ok;
	struct span line;

	while (more)
		switch (trace_next(reader, &line, err)) {
		case TRACE_LINE:
			more = ok = fn(line, arg, err);
			break;
		case TRACE_END:
			more = false;
			break;
		case TRACE_TRUNCATED:
			more = false;
			ok = error_set(err, ERROR_MALFORMED,
				       "it ends in the middle of a record");
			break;
		case TRACE_FAILED:
			more = ok = false;
			break;
		}
	trace_reader_free(reader);
	return ok || (reader && error_wrap(err, "%s", path));
}

static bool print_line(struct span line, void *arg UNUSED,
		       struct error *err UNUSED)
{
	fwrite(line.data, 1, line.len, stdout);
	putchar('\n');
	return true;
}

struct wanted {
	uint64_t turn;
	bool found;
};

static bool print_wanted(struct span line, void *arg, struct error *err)
{
	struct wanted *wanted = arg;
	struct turn turn;

	if (!turn_decode(line, &turn, err))
		return false;
	if (turn.number == wanted->turn) {
		wanted->found = true;
		trace_show_turn(stdout, &turn);
	}
	return true;
}

static bool show_turn(const char *path, uint64_t number, struct error *err)
{
	struct wanted wanted = { .turn = number };

	if (!for_each_line(path, print_wanted, &wanted, err))
		return false;
	return wanted.found ||
	       error_set(err, ERROR_ABSENT, "%s: there is no turn %" PRIu64,
			 path, number);
}

static void print_stats(const struct trace_summary *s)
{
	uint64_t complete = 0, tokens = 0, latency_us = 0;
	uint64_t kinds[TURN_OTHER + 1] = { 0 };

	for (size_t i = 0; i < s->count; i++) {
		complete += s->turns[i].complete;
		tokens += s->turns[i].tokens;
		latency_us += s->turns[i].latency_us;
		kinds[s->turns[i].kind]++;
	}
	printf("turns                %zu\n", s->count);
	for (size_t i = 0; i <= TURN_OTHER; i++)
		if (kinds[i])
			printf("  %-18s %" PRIu64 "\n",
			       turn_kind_name((enum turn_kind)i), kinds[i]);
	printf("complete             %" PRIu64 "\n", complete);
	printf("token_status exact   %" PRIu64 "\n", s->exact);
	printf("tokens recorded      %" PRIu64 "\n", tokens);
	printf("prompt_tokens        %" PRIu64 "\n", s->prompt_tokens);
	printf("completion_tokens    %" PRIu64 "\n", s->completion_tokens);
	printf("model time           %.3f s\n", (double)latency_us / 1e6);
}

static bool summarise(const char *path, bool stats, struct error *err)
{
	struct trace_summary summary;
	bool truncated;

	if (access(path, R_OK) < 0)
		return error_set_errno(err, errno, "open %s", path);
	if (!trace_summary_load(&summary, path, false, err))
		return false;
	if (stats)
		print_stats(&summary);
	else
		report_print_turns(stdout, &summary);
	truncated = summary.truncated;
	trace_summary_release(&summary);
	return !truncated ||
	       error_set(err, ERROR_MALFORMED,
			 "%s: it ends in the middle of a record", path);
}

static bool run(char **operands, const struct trace_options *options, int *code,
		struct error *err)
{
	const char *what = operands[0], *path = what ? operands[1] : NULL;

	*code = EXIT_USAGE;
	if (!path || operands[2])
		return error_set(err, ERROR_USAGE,
				 "trace: give show, stats or cat, and one "
				 "FILE");
	if (strcmp(what, "show") != 0 && options->turn)
		return error_set(err, ERROR_USAGE,
				 "--turn goes with trace show only");
	if (strcmp(what, "show") != 0 && strcmp(what, "stats") != 0 &&
	    strcmp(what, "cat") != 0)
		return error_set(err, ERROR_USAGE,
				 "trace: '%s' is none of show, stats, cat",
				 what);
	*code = EXIT_FAILED;
	if (!cmd_check_file(path, err))
		return false;
	if (!strcmp(what, "cat"))
		return for_each_line(path, print_line, NULL, err);
	if (!strcmp(what, "show") && options->turn)
		return show_turn(path, options->turn, err);
	return summarise(path, !strcmp(what, "stats"), err);
}

static int trace_main(int argc, char **argv)
{
	struct trace_options options = { 0 };
	struct error err = ERROR_INIT;
	char **operands;
	int code;

	if (!cmd_parse(&trace_table, &options, argc, argv, &operands, &code))
		return code;
	if (!run(operands, &options, &code, &err))
		return cmd_fail(&err, code);
	return EXIT_OK;
}

const struct command cmd_trace = {
	.name = "trace",
	.summary = "look at what was recorded",
	.options = &trace_table,
	.run = trace_main,
};
