/* The report of one rollout. */
#include "controller/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "controller/terminal.h"

#define COMMAND_WIDTH 66 /* bytes of a command that fit on its line */

static enum colour colour_of_outcome(const struct result *r)
{
	if (r->outcome != ROLLOUT_COMPLETED)
		return r->outcome == ROLLOUT_CANCELLED ? COLOUR_YELLOW
						       : COLOUR_RED;
	return r->has_reward && r->reward < 1 ? COLOUR_YELLOW : COLOUR_GREEN;
}

static void print_head(FILE *f, const struct result *r)
{
	const char *stop = stop_reason_name(r->stop_reason);

	fprintf(f, "\n%sTask ", terminal_begin(f, COLOUR_BOLD));
	terminal_print_name(f, r->task_id);
	fprintf(f, "%s  %s%s%s", terminal_end(f),
		terminal_begin(f, colour_of_outcome(r)),
		rollout_outcome_name(r->outcome), terminal_end(f));
	if (stop && strcmp(stop, "done") != 0)
		fprintf(f, " (%s)", stop);
	if (r->has_reward)
		fprintf(f, "  reward %s%.4g%s", terminal_begin(f, COLOUR_BOLD),
			r->reward, terminal_end(f));
	else
		fprintf(f, "  no reward");
	fprintf(f, "  in %.2f s\n", (double)r->wall_ms / 1000);
	fprintf(f, "%s%s, %s in %s, model ", terminal_begin(f, COLOUR_DIM),
		r->mode, r->agent, r->backend);
	terminal_print_name(f, r->model);
	fprintf(f, ", rollout %s%s\n", r->rollout_id, terminal_end(f));
	if (r->error->kind != ERROR_NONE) {
		fprintf(f, "%s", terminal_begin(f, COLOUR_RED));
		terminal_print(f, r->error->text, strlen(r->error->text));
		fprintf(f, "%s\n", terminal_end(f));
	}
}

/* A bar whose full length is the longest phase. */
static void print_bar(FILE *f, uint64_t ms, uint64_t longest)
{
	uint64_t length = longest ? ms * 30 / longest : 0;

	for (uint64_t i = 0; i < length; i++)
		fputs(i ? "#" : "  #", f);
}

static void print_phases(FILE *f, const struct result *r)
{
	uint64_t longest = 0;

	for (size_t i = 0; i < r->phase_count; i++)
		if (r->phases[i].ms > longest)
			longest = r->phases[i].ms;
	fprintf(f, "\nPhases\n");
	for (size_t i = 0; i < r->phase_count; i++) {
		fprintf(f, "  %-11s %8.3f s", r->phases[i].name,
			(double)r->phases[i].ms / 1000);
		print_bar(f, r->phases[i].ms, longest);
		putc('\n', f);
	}
}

static void print_commands(FILE *f, const char *title,
			   const struct commands *commands)
{
	if (!commands->count)
		return;
	fprintf(f, "\n%s\n", title);
	for (size_t i = 0; i < commands->count; i++) {
		const struct command_result *c = &commands->results[i];
		bool ok = c->exit_code == 0;
		size_t line = strcspn(c->command, "\n");
		size_t shown = line > COMMAND_WIDTH ? COMMAND_WIDTH : line;

		fprintf(f, "  %s%s%s  %6.2f s  ",
			terminal_begin(f, ok ? COLOUR_GREEN : COLOUR_RED),
			ok ? "ok  " : "FAIL", terminal_end(f),
			(double)c->duration_ms / 1000);
		terminal_print(f, c->command, shown);
		if (c->command[shown])
			fputs(" ...", f);
		if (!ok)
			fprintf(f, "  (exit %d%s)", c->exit_code,
				c->timed_out ? ", timed out" : "");
		putc('\n', f);
	}
}

static void print_turn(FILE *f, const struct turn_line *t)
{
	char logprob[16] = "-";

	if (t->has_logprobs)
		snprintf(logprob, sizeof(logprob), "%.3f", t->mean_logprob);
	fprintf(f,
		"  %4" PRIu64 "  %-10s %7" PRIu64 "  %12s  %-13s %8.3f s  %s",
		t->number, turn_kind_name(t->kind), t->tokens, logprob,
		token_status_name(t->token_status), (double)t->latency_us / 1e6,
		t->finish_reason[0] ? t->finish_reason : "-");
	if (!t->complete)
		fprintf(f, "  %sincomplete%s", terminal_begin(f, COLOUR_YELLOW),
			terminal_end(f));
	else if (!t->delivered)
		fprintf(f, "  not delivered");
	if (t->upstream_status >= 400)
		fprintf(f, "  upstream %u", t->upstream_status);
	putc('\n', f);
}

void report_print_turns(FILE *f, const struct trace_summary *trace)
{
	fprintf(f, "  %4s  %-10s %7s  %12s  %-13s %10s  %s\n", "turn", "kind",
		"tokens", "mean logprob", "status", "time", "finish");
	for (size_t i = 0; i < trace->count; i++)
		print_turn(f, &trace->turns[i]);
}

static void print_file(FILE *f, const char *path, const char *what)
{
	const char *slash = strrchr(path, '/');

	if (access(path, F_OK) == 0)
		fprintf(f, "  %-22s %s\n", slash ? slash + 1 : path, what);
}

static void print_files(FILE *f, const struct result *r,
			const struct out_dir *out)
{
	size_t count = r->collect->file_count;

	fprintf(f, "\nFiles in ");
	terminal_print_name(f, out->path);
	putc('\n', f);
	print_file(f, out->result, "all of this, and more");
	print_file(f, out->trace, "the turns; octap trace show FILE --turn N");
	print_file(f, out->agent_log, "the agent's own events");
	print_file(f, out->agent_stderr, "what it said on stderr");
	print_file(f, out->proxy_log, "what octap-proxy said");
	if (!count)
		return;
	fprintf(f, "  %-22s", "files/");
	for (size_t i = 0; i < count && i < 8; i++) {
		putc(' ', f);
		terminal_print_name(f, r->collect->files[i].path);
	}
	fprintf(f, "%s\n", count > 8 ? " ..." : "");
}

void report_print(FILE *f, const struct result *r, const struct out_dir *out)
{
	print_head(f, r);
	print_phases(f, r);
	print_commands(f, "Setup", r->setup);
	if (r->trace->count) {
		fprintf(f, "\nTurns\n");
		report_print_turns(f, r->trace);
	}
	print_commands(f, "Verify", r->verify);
	print_files(f, r, out);
	putc('\n', f);
}
