/* octap: subcommands. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "controller/cmd/cmd.h"
#include "controller/controller.h"
#include "shared/version.h"

static const struct command *const commands[] = {
	&cmd_run,
	&cmd_replay,
	&cmd_trace,
};

static void print_help(void)
{
	printf("Usage: octap COMMAND [OPTION]...\n"
	       "\n"
	       "Run the opencode coding agent in a sandbox against any "
	       "OpenAI-compatible model and\n"
	       "record every model call: tokens, token ids, log-probabilities, "
	       "and the reward.\n"
	       "\n"
	       "Commands:\n");
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		printf("  %-8s %s\n", commands[i]->name, commands[i]->summary);
	printf("\n"
	       "`octap COMMAND --help` explains each; octap(1) is the manual.\n"
	       "\n"
	       "Examples:\n"
	       "  octap run task.json --base-url http://127.0.0.1:8000/v1 "
	       "--model Qwen/Qwen3-8B\n"
	       "  octap trace show octap-out/ID/proxy_trace.jsonl.zst\n");
}

/* What was printed is what was asked for: did it arrive? */
static int end_output(int code)
{
	bool ok = !ferror(stdout);

	errno = 0;
	if (fflush(stdout) == 0 && ok)
		return code;
	fprintf(stderr, "octap: write to stdout: %s\n",
		errno ? strerror(errno) : "it failed");
	return EXIT_FAILED;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	controller_harden();
	if (!strcmp(name, "--help") || !strcmp(name, "help")) {
		print_help();
		return end_output(EXIT_OK);
	}
	if (!strcmp(name, "--version")) {
		printf("octap " OCTAP_VERSION "\n");
		return end_output(EXIT_OK);
	}
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (!strcmp(commands[i]->name, name))
			return end_output(commands[i]->run(argc - 1, argv + 1));
	if (*name)
		fprintf(stderr, "octap: '%s' is no command: see octap --help\n",
			name);
	else
		fprintf(stderr, "octap: no command: see octap --help\n");
	return EXIT_USAGE;
}
