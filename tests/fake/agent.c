/*
 * A light stand-in for opencode: started as octap starts it, it makes real
 * model calls and prints opencode's events.  What it does is said by lines of
 * its instruction, done in order; any other line is only text for the model:
 *
 *	@call			a model call; its failure ends the agent, exit 1
 *	@calls N		as many
 *	@try-call		a model call whose failure is only printed
 *	@until-stop		calls until an answer stops without a tool call
 *	@title-call		a call for a title
 *	@sub-call		a call of a subagent
 *	@sh COMMAND		run by bash, its output in an event
 *	@background COMMAND	run by bash in a session of its own, not waited
 *				for
 *	@sleep SECONDS
 *	@overflow		the model's window is full: exit 1
 *	@exit N
 *	@die SIGNAL		by its number
 *	@hang			for ever
 *
 * Without such a line it is @until-stop.  Like opencode it takes no notice of
 * SIGTERM, SIGINT, SIGHUP and SIGQUIT.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/file.h"
#include "shared/limits.h"
#include "shared/mem.h"
#include "tests/fake/agent_call.h"
#include "tests/fake/agent_config.h"
#include "tests/fake/agent_event.h"

struct agent {
	struct agent_config config;
	struct buf instruction;
	cJSON *history; /* answers and tool results so far */
};

static const int ignored_signals[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };

static NO_RETURN void finish(struct agent *a, int exit_code)
{
	cJSON_Delete(a->history);
	buf_release(&a->instruction);
	agent_config_release(&a->config);
	exit(exit_code);
}

static void set_signals(void (*handler)(int))
{
	for (size_t i = 0; i < ARRAY_LEN(ignored_signals); i++)
		signal(ignored_signals[i], handler);
}

/* --- Model calls. ------------------------------------------------------- */

static void print_answer(const struct agent_answer *answer)
{
	const cJSON *call;

	if (*answer->text)
		agent_event_text(answer->text);
	cJSON_ArrayForEach(call, answer->tool_calls) {
		const cJSON *function =
			cJSON_GetObjectItemCaseSensitive(call, "function");
		const char *name = cJSON_GetStringValue(
			cJSON_GetObjectItemCaseSensitive(function, "name"));
		const char *id = cJSON_GetStringValue(
			cJSON_GetObjectItemCaseSensitive(call, "id"));

		agent_event_tool(name, id, cJSON_Duplicate(function, true), "",
				 0);
	}
	agent_event_step_finish(*answer->finish_reason ? answer->finish_reason
						       : "unknown");
}

static cJSON *add_message(struct agent *a, const char *role,
			  const char *content)
{
	cJSON *message = cJSON_CreateObject();

	cJSON_AddStringToObject(message, "role", role);
	cJSON_AddStringToObject(message, "content", content);
	cJSON_AddItemToArray(a->history, message);
	return message;
}

/* The tools are not run, only said to be done. */
static void remember(struct agent *a, struct agent_answer *answer)
{
	cJSON *message = add_message(a, "assistant", answer->text);
	const cJSON *call;

	if (!cJSON_GetArraySize(answer->tool_calls))
		return;
	cJSON_AddItemToObject(message, "tool_calls",
			      cJSON_Duplicate(answer->tool_calls, true));
	cJSON_ArrayForEach(call, answer->tool_calls)
		cJSON_AddStringToObject(
			add_message(a, "tool", "done"), "tool_call_id",
			cJSON_GetStringValue(
				cJSON_GetObjectItemCaseSensitive(call, "id")));
}

/* False: it failed.  *stopped: there is nothing left to do. */
static bool call_model(struct agent *a, enum agent_call_kind kind,
		       bool *stopped)
{
	const struct agent_call call = {
		.config = &a->config,
		.kind = kind,
		.instruction = a->instruction.data,
		.history = kind == AGENT_CALL_MAIN ? a->history : NULL,
	};
	struct agent_answer answer;

	if (kind == AGENT_CALL_MAIN)
		agent_event_step_start();
	if (!agent_call_make(&call, &answer))
		return false;
	*stopped = !strcmp(answer.finish_reason, "stop") &&
		   !cJSON_GetArraySize(answer.tool_calls);
	if (kind == AGENT_CALL_MAIN) {
		print_answer(&answer);
		remember(a, &answer);
	}
	agent_answer_release(&answer);
	return true;
}

static void call_or_finish(struct agent *a, enum agent_call_kind kind,
			   bool *stopped)
{
	if (!call_model(a, kind, stopped))
		finish(a, 1);
}

static long number_of(const char *text)
{
	return strtol(text, NULL, 10);
}

static void do_call(struct agent *a, const char *rest UNUSED)
{
	bool stopped;

	call_or_finish(a, AGENT_CALL_MAIN, &stopped);
}

static void do_calls(struct agent *a, const char *rest)
{
	for (long n = number_of(rest); n > 0; n--)
		do_call(a, "");
}

static void do_try_call(struct agent *a, const char *rest UNUSED)
{
	bool stopped;

	call_model(a, AGENT_CALL_MAIN, &stopped);
}

static void do_until_stop(struct agent *a, const char *rest UNUSED)
{
	bool stopped = false;

	while (!stopped)
		call_or_finish(a, AGENT_CALL_MAIN, &stopped);
}

static void do_title_call(struct agent *a, const char *rest UNUSED)
{
	bool stopped;

	call_or_finish(a, AGENT_CALL_TITLE, &stopped);
}

static void do_sub_call(struct agent *a, const char *rest UNUSED)
{
	bool stopped;

	call_or_finish(a, AGENT_CALL_SUB, &stopped);
}

/* --- Processes. --------------------------------------------------------- */

static NO_RETURN void run_bash(const char *command, int output)
{
	setsid();
	set_signals(SIG_DFL);
	dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	close(output);
	execl("/bin/bash", "bash", "-c", command, (char *)NULL);
	_exit(127);
}

static int exit_code_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

static void do_sh(struct agent *a UNUSED, const char *command)
{
	cJSON *input = cJSON_CreateObject();
	struct error err;
	struct buf output;
	int fds[2], status;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		abort();
	pid = fork();
	if (pid == 0)
		run_bash(command, fds[1]);
	close(fds[1]);
	buf_init(&output, LIMIT_AGENT_LOG);
	if (!file_read_fd(fds[0], &output, &err))
		fprintf(stderr, "agent: %s\n", err.text);
	close(fds[0]);
	waitpid(pid, &status, 0);
	cJSON_AddStringToObject(input, "command", command);
	agent_event_tool("bash", "call_sh", input,
			 output.data ? output.data : "", exit_code_of(status));
	buf_release(&output);
}

static void do_background(struct agent *a UNUSED, const char *command)
{
	if (fork() == 0)
		run_bash(command, open("/dev/null", O_WRONLY));
}

/* --- The rest. ---------------------------------------------------------- */

static void do_sleep(struct agent *a UNUSED, const char *rest)
{
	usleep((useconds_t)(strtod(rest, NULL) * 1e6));
}

static void do_overflow(struct agent *a, const char *rest UNUSED)
{
	agent_event_error("ContextOverflowError",
			  "Input exceeds context window of this model", NULL);
	finish(a, 1);
}

static void do_exit(struct agent *a, const char *rest)
{
	finish(a, (int)number_of(rest));
}

static void do_die(struct agent *a UNUSED, const char *rest)
{
	signal((int)number_of(rest), SIG_DFL);
	raise((int)number_of(rest));
}

static void do_hang(struct agent *a UNUSED, const char *rest UNUSED)
{
	for (;;)
		pause();
}

static const struct directive {
	const char *name;
	void (*run)(struct agent *a, const char *rest);
} directives[] = {
	{ "@call", do_call },
	{ "@calls", do_calls },
	{ "@try-call", do_try_call },
	{ "@until-stop", do_until_stop },
	{ "@title-call", do_title_call },
	{ "@sub-call", do_sub_call },
	{ "@sh", do_sh },
	{ "@background", do_background },
	{ "@sleep", do_sleep },
	{ "@overflow", do_overflow },
	{ "@exit", do_exit },
	{ "@die", do_die },
	{ "@hang", do_hang },
};

/* NULL: the line is none. */
static const struct directive *find_directive(const char *line)
{
	size_t len = strcspn(line, " ");

	for (size_t i = 0; i < ARRAY_LEN(directives); i++)
		if (strlen(directives[i].name) == len &&
		    !strncmp(directives[i].name, line, len))
			return &directives[i];
	return NULL;
}

static void follow(struct agent *a)
{
	char *text = xstrdup(a->instruction.data), *line, *next;
	bool any = false;

	for (line = text; *line; line = next) {
		const struct directive *directive;

		next = strchrnul(line, '\n');
		if (*next)
			*next++ = '\0';
		directive = find_directive(line);
		if (!directive)
			continue;
		any = true;
		line += strcspn(line, " ");
		directive->run(a, line + strspn(line, " "));
	}
	free(text);
	if (!any)
		do_until_stop(a, "");
}

/* Exactly what octap is to say; opencode refuses what it does not know. */
static bool is_our_command_line(int argc, char **argv, const char *model)
{
	const char *const expected[] = { "run",  "--format", "json", "--title",
					 "task", "--model",  model,  "--auto" };
	int most = (int)ARRAY_LEN(expected);

	if (argc - 1 != most && argc - 1 != most - 1)
		return false;
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], expected[i - 1]) != 0)
			return false;
	return true;
}

int main(int argc, char **argv)
{
	struct agent agent = { .history = cJSON_CreateArray() };
	struct error err;

	set_signals(SIG_IGN);
	buf_init(&agent.instruction, LIMIT_INSTRUCTION);
	if (!agent_config_load(&agent.config) ||
	    !is_our_command_line(argc, argv, agent.config.full_model)) {
		fprintf(stderr, "agent: wrong configuration or arguments\n");
		finish(&agent, 1);
	}
	if (!file_read_fd(STDIN_FILENO, &agent.instruction, &err) ||
	    !agent.instruction.len) {
		fprintf(stderr, "agent: no prompt\n");
		finish(&agent, 1);
	}
	follow(&agent);
	finish(&agent, 0);
}
