/* octap run: one task, one rollout. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/cmd/cmd.h"
#include "controller/controller.h"
#include "controller/report.h"
#include "controller/rollout.h"
#include "controller/run_options.h"
#include "controller/terminal.h"
#include "shared/file.h"
#include "shared/id.h"
#include "shared/json_text.h"
#include "shared/limits.h"
#include "shared/log.h"
#include "shared/mem.h"

static const struct option_table run_table = {
	.usage = "octap run [TASK.json] [OPTION]...",
	.summary = "Run one task in one sandbox and print what became of it.",
	.examples =
		"  octap run task.json --base-url http://127.0.0.1:8000/v1 "
		"--model Qwen/Qwen3-8B\n"
		"  VLLM_URL=http://gpu:8000 octap run task.json --json | jq "
		".reward\n"
		"  octap run --instruction 'Write hello.txt' --verify 'test -s "
		"hello.txt' \\\n"
		"            --endpoint openai --sampling "
		"'{\"temperature\":1}'\n",
	.exit_codes =
		"  0    the agent ended by itself, at --max-turns or with "
		"its window full\n"
		"  1    octap, the sandbox, the network or the model "
		"server failed\n"
		"  2    wrong command line or task\n"
		"  3    the agent exited non-zero\n"
		"  4    the agent used up its time\n"
		"  130  stopped by SIGINT, SIGTERM or SIGHUP\n",
	.entries = run_option_entries,
	.count = RUN_OPTION_COUNT,
};

/* One run under way. */
struct run {
	struct run_options options;
	struct controller controller;
	struct task task;
	struct endpoint endpoint;
	char id[ID_SIZE];
	struct out_dir out;
	char *agent_binary;
	struct rollout *rollout;
	int exit_code;
};

static bool check_utf8(const char *name, const char *text, struct error *err)
{
	return utf8_valid(span_of(text)) ||
	       error_set(err, ERROR_USAGE, "--%s is not valid UTF-8", name);
}

static bool check_list(const char *name, const struct option_list *list,
		       struct error *err)
{
	for (size_t i = 0; i < list->count; i++)
		if (!check_utf8(name, list->items[i], err))
			return false;
	return true;
}

static cJSON *list_to_json(const struct option_list *list)
{
	return cJSON_CreateStringArray(list->items, (int)list->count);
}

/* One way in for a task of options and of a file: everything is checked. */
static bool task_from_options(struct run *run, struct error *err)
{
	cJSON *json;
	char *text;
	bool ok;

	if (!check_utf8("instruction", run->options.instruction, err) ||
	    !check_list("setup", &run->options.setup, err) ||
	    !check_list("verify", &run->options.verify, err))
		return false;
	json = cJSON_CreateObject();
	cJSON_AddStringToObject(json, "instruction", run->options.instruction);
	cJSON_AddItemToObject(json, "setup", list_to_json(&run->options.setup));
	cJSON_AddItemToObject(json, "verify",
			      list_to_json(&run->options.verify));
	text = cJSON_PrintUnformatted(json);
	cJSON_Delete(json);
	ok = task_parse(&run->task, span_of(text), ".", err);
	cJSON_free(text);
	return ok;
}

static bool load_task(struct run *run, char **operands, struct error *err)
{
	const struct run_options *o = &run->options;

	if (operands[0] && operands[1])
		return error_set(err, ERROR_USAGE,
				 "'%s': one task file, not several",
				 operands[1]);
	if (operands[0] &&
	    (o->instruction || o->setup.count || o->verify.count))
		return error_set(err, ERROR_USAGE,
				 "--instruction, --setup and --verify do not "
				 "go with a task file");
	if (operands[0])
		return cmd_check_file(operands[0], err) &&
		       task_load(&run->task, operands[0], err);
	if (!o->instruction)
		return error_set(err, ERROR_USAGE,
				 "no task: give a TASK file or --instruction");
	return task_from_options(run, err);
}

static bool is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool is_native(const char *path)
{
	char magic[4] = { 0 };
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	bool native = fd >= 0 && read(fd, magic, 4) == 4 &&
		      !memcmp(magic, "\177ELF", 4);

	if (fd >= 0)
		close(fd);
	return native;
}

static bool find_agent(struct run *run, struct error *err)
{
	const char *given = run->options.agent_binary;
	char *found = given ? xstrdup(given)
			    : controller_find_program(run->options.agent);

	if (!found)
		return error_set(err, ERROR_USAGE,
				 "%s is not in PATH: install it (npm install "
				 "-g opencode-ai) or give --agent-binary",
				 run->options.agent);
	run->agent_binary = realpath(found, NULL);
	free(found);
	if (!run->agent_binary)
		return error_set_errno(err, errno, "--agent-binary %s",
				       given ? given : run->options.agent);
	if (is_folder(run->agent_binary))
		return error_set(err, ERROR_USAGE,
				 "--agent-binary %s: it is a folder, not a "
				 "program",
				 run->agent_binary);
	if (!is_native(run->agent_binary))
		return error_set(err, ERROR_USAGE,
				 "%s is no native program, so it cannot run "
				 "in the sandbox alone: give --agent-binary",
				 run->agent_binary);
	return true;
}

static bool make_out_dir(struct run *run, struct error *err)
{
	char *path = run->options.out ? xstrdup(run->options.out)
				      : xasprintf("octap-out/%s", run->id);
	bool ok =
		out_dir_make(&run->out, path, err) || error_wrap(err, "--out");

	free(path);
	return ok;
}

/* What is meant for the verifier only would be no secret there. */
static void warn_if_seen(const struct run *run, const char *what,
			 const char *path)
{
	char *real = realpath(path, NULL);

	if (real && sandbox_backend_find(run->options.sandbox)->shows(real))
		log_warn("octap",
			 "%s %s lies where the agent can read: put it "
			 "elsewhere",
			 what, real);
	free(real);
}

static void warn_of_seen_files(const struct run *run, const char *task_file)
{
	if (task_file)
		warn_if_seen(run, "the task file", task_file);
	warn_if_seen(run, "--out", run->out.path);
	warn_if_seen(run, "the current folder", ".");
}

static bool prepare(struct run *run, char **operands, struct error *err)
{
	return run_options_check(&run->options, err) &&
	       load_task(run, operands, err) &&
	       endpoint_resolve(&run->endpoint, &run->options.endpoint, err) &&
	       find_agent(run, err) && id_new(run->id, err) &&
	       make_out_dir(run, err);
}

static void on_state(struct rollout *rollout UNUSED, enum rollout_state state,
		     void *arg UNUSED)
{
	log_info("octap", "%s", rollout_state_name(state));
	if (!isatty(STDERR_FILENO))
		return;
	if (state == ROLLOUT_DONE)
		fprintf(stderr, "\r\033[K");
	else
		fprintf(stderr, "\r\033[K%s ...", rollout_state_name(state));
}

static int exit_code_of(enum rollout_outcome outcome)
{
	switch (outcome) {
	case ROLLOUT_COMPLETED:
		return EXIT_OK;
	case ROLLOUT_AGENT_FAILED:
		return EXIT_AGENT_FAILED;
	case ROLLOUT_TIMED_OUT:
		return EXIT_TIMED_OUT;
	case ROLLOUT_CANCELLED:
		return EXIT_CANCELLED;
	default:
		return EXIT_FAILED;
	}
}

/* stdout holds nothing but the file. */
static bool print_result_file(const struct run *run)
{
	struct error err;
	struct buf text;
	bool ok;

	buf_init(&text, LIMIT_TRACE_RECORD);
	ok = file_read(run->out.result, &text, &err);
	if (ok && !file_write_fd(STDOUT_FILENO, buf_span(&text)))
		ok = error_set_errno(&err, errno, "print %s on stdout",
				     run->out.result);
	if (!ok)
		log_error("octap", "%s", err.text);
	buf_release(&text);
	return ok;
}

static void on_done(struct rollout *rollout UNUSED, const struct result *result,
		    const struct error *err, void *arg)
{
	struct run *run = arg;

	run->exit_code = exit_code_of(result->outcome);
	if (err) {
		log_error("octap", "%s", err->text);
		run->exit_code = EXIT_FAILED;
	}
	if (run->options.json && !print_result_file(run))
		run->exit_code = EXIT_FAILED;
	else if (!run->options.json)
		report_print(stdout, result, &run->out);
	loop_stop(run->controller.loop);
}

static void on_stop(void *arg)
{
	struct run *run = arg;

	if (run->rollout)
		rollout_cancel(run->rollout);
}

static void on_abandon(void *arg)
{
	struct run *run = arg;

	fprintf(stderr, "octap: abandoned sandbox %s\n", run->id);
}

static struct rollout_spec make_spec(struct run *run)
{
	struct rollout_spec spec =
		run_options_spec(&run->options, &run->endpoint);

	spec.id = run->id;
	spec.task = &run->task;
	spec.endpoint = &run->endpoint;
	spec.host = &run->controller.host;
	spec.out = &run->out;
	spec.agent_binary = run->agent_binary;
	if (!spec.agent_timeout_ms)
		spec.agent_timeout_ms = run->task.agent_timeout_ms;
	return spec;
}

static int execute(struct run *run, struct error *err)
{
	static const struct rollout_handler handler = { on_state, on_done };
	struct rollout_spec spec;

	if (!controller_init(&run->controller, on_stop, on_abandon, run, err))
		return cmd_fail(err, EXIT_FAILED);
	spec = make_spec(run);
	run->rollout = rollout_new(&spec, &handler, run, err);
	if (!run->rollout)
		return cmd_fail(err, EXIT_FAILED);
	rollout_start(run->rollout);
	loop_run(run->controller.loop);
	rollout_free(run->rollout);
	return run->exit_code;
}

static int run_main(int argc, char **argv)
{
	struct run run = { .options = run_options_default() };
	struct error err = ERROR_INIT;
	char **operands;
	int code;

	if (!cmd_parse(&run_table, &run.options, argc, argv, &operands,
		       &code)) {
		run_options_release(&run.options);
		return code;
	}
	log_set_level(run.options.verbose ? LOG_DEBUG : LOG_WARN);
	if (prepare(&run, operands, &err)) {
		warn_of_seen_files(&run, operands[0]);
		if (run.endpoint.key_is_secret)
			log_mask(run.endpoint.key);
		code = execute(&run, &err);
		controller_release(&run.controller);
	} else {
		code = cmd_fail(&err, EXIT_USAGE);
	}
	task_release(&run.task);
	endpoint_release(&run.endpoint);
	log_mask_clear();
	run_options_release(&run.options);
	out_dir_release(&run.out);
	free(run.agent_binary);
	return code;
}

const struct command cmd_run = {
	.name = "run",
	.summary = "run one task in one sandbox and print what became of it",
	.options = &run_table,
	.run = run_main,
};
