/* octap replay: a recorded trace as a model server. */
#include <signal.h>
#include <stdio.h>

#include "controller/cmd/cmd.h"
#include "controller/controller.h"
#include "controller/replay.h"
#include "shared/log.h"
#include "shared/loop.h"

struct replay_options {
	const char *host;
	uint64_t port;
	uint64_t token_interval_ms;
	bool verbose;
};

static const struct option_entry entries[] = {
	{
		OPTION("host", TEXT, struct replay_options, host),
		.argument = "ADDRESS",
		.help = "address to listen on (default 127.0.0.1)",
	},
	{
		OPTION("port", NUMBER, struct replay_options, port),
		.maximum = 65535,
		.argument = "N",
		.help = "port to listen on (default 0: a free one)",
	},
	{
		OPTION("token-interval", SECONDS, struct replay_options,
		       token_interval_ms),
		.maximum = 60000,
		.argument = "S",
		.help = "pause for each token, in seconds (default 0)",
	},
	{
		OPTION("verbose", FLAG, struct replay_options, verbose),
		.help = "log each call",
	},
};

static const struct option_table replay_table = {
	.usage = "octap replay TRACE [OPTION]...",
	.summary = "Answer chat-completion calls from a recorded trace "
		   "(.jsonl or .jsonl.zst), so that\n"
		   "a rollout can be run again without a model.  Prints one "
		   "JSON line with the port\n"
		   "when it listens.",
	.examples = "  octap replay octap-out/ID/proxy_trace.jsonl.zst --port "
		    "8000\n"
		    "  octap replay trace.jsonl.zst --token-interval 0.02\n",
	.exit_codes = "  0  stopped by SIGTERM or SIGINT\n"
		      "  1  could not start\n"
		      "  2  wrong command line\n",
	.entries = entries,
	.count = ARRAY_LEN(entries),
};

static void on_stop(int number UNUSED, void *arg)
{
	loop_stop(arg);
}

static int serve(struct loop *loop, const struct replay_spec *spec,
		 struct error *err)
{
	struct replay *replay = replay_open(loop, spec, err);

	if (!replay)
		return cmd_fail(err, EXIT_FAILED);
	if (!controller_on_signal(loop, SIGTERM, on_stop, loop, err) ||
	    !controller_on_signal(loop, SIGINT, on_stop, loop, err)) {
		replay_close(replay);
		return cmd_fail(err, EXIT_FAILED);
	}
	printf("{\"event\":\"listening\",\"host\":\"%s\",\"port\":%u,"
	       "\"turns\":%llu}\n",
	       spec->host, replay_port(replay),
	       (unsigned long long)replay_turns(replay));
	fflush(stdout);
	loop_run(loop);
	replay_close(replay);
	return EXIT_OK;
}

static int replay_main(int argc, char **argv)
{
	struct replay_options options = { .host = "127.0.0.1" };
	struct error err = ERROR_INIT;
	struct replay_spec spec;
	struct loop *loop;
	char **operands;
	int code;

	if (!cmd_parse(&replay_table, &options, argc, argv, &operands, &code))
		return code;
	if (!operands[0] || operands[1]) {
		error_set(&err, ERROR_USAGE, "replay: give one TRACE file");
		return cmd_fail(&err, EXIT_USAGE);
	}
	if (!cmd_check_file(operands[0], &err))
		return cmd_fail(&err, EXIT_FAILED);
	log_set_level(options.verbose ? LOG_DEBUG : LOG_WARN);
	spec = (struct replay_spec){
		.trace_path = operands[0],
		.host = options.host,
		.port = options.port,
		.token_interval_ms = options.token_interval_ms,
	};
	loop = loop_new(&err);
	if (!loop)
		return cmd_fail(&err, EXIT_FAILED);
	code = serve(loop, &spec, &err);
	loop_free(loop);
	return code;
}

const struct command cmd_replay = {
	.name = "replay",
	.summary = "serve a recorded trace as a model server",
	.options = &replay_table,
	.run = replay_main,
};
