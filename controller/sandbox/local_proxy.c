/* The proxy beside the sandbox. */
#include "controller/sandbox/local_proxy.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "controller/process.h"
#include "shared/buf.h"
#include "shared/file.h"
#include "shared/limits.h"
#include "shared/loop.h"
#include "shared/mem.h"

#define STOP_MS 10000

/* Numbers of the descriptors it is given, and their names in its argv. */
enum { FD_LOG = 2, FD_UPSTREAM_KEY = 3, FD_CLIENT_KEY = 4 };
#define UPSTREAM_KEY_PATH "/dev/fd/3"
#define CLIENT_KEY_PATH   "/dev/fd/4"

/* What of octap's environment it may see: how to reach the model server. */
static const char *const passed_variables[] = {
	"http_proxy",
	"https_proxy",
	"HTTPS_PROXY",
	"all_proxy",
	"ALL_PROXY",
	"no_proxy",
	"NO_PROXY",
	"SSL_CERT_FILE",
	"SSL_CERT_DIR",
	"CURL_CA_BUNDLE",
	"REQUESTS_CA_BUNDLE",
	"NODE_EXTRA_CA_CERTS",
	"PATH",
	"TZ",
	"ASAN_OPTIONS",
	"UBSAN_OPTIONS",
};

struct local_proxy {
	struct process *process;
	struct local_proxy_handler handler;
	void *arg;
	struct loop_timer *kill_timer;
	struct buf line;      /* of its stdout, not yet whole */
	struct buf last_line; /* the last whole one */
};

static void take_line(struct local_proxy *p)
{
	struct span line = buf_span(&p->last_line);
	cJSON *json = cJSON_ParseWithLength(line.data, line.len);
	cJSON *event = cJSON_GetObjectItemCaseSensitive(json, "event");
	cJSON *port = cJSON_GetObjectItemCaseSensitive(json, "port");
	unsigned number = cJSON_IsNumber(port) ? (unsigned)port->valueint : 0;
	bool listening = cJSON_IsString(event) &&
			 !strcmp(event->valuestring, "listening");

	cJSON_Delete(json);
	if (listening)
		p->handler.on_ready(number, p->arg);
}

static void on_output(struct process *process UNUSED, bool is_stderr UNUSED,
		      struct span bytes, void *arg)
{
	struct local_proxy *p = arg;
	struct error err;

	while (bytes.len) {
		const char *end = memchr(bytes.data, '\n', bytes.len);
		size_t len = end ? (size_t)(end - bytes.data) : bytes.len;

		if (!buf_add(&p->line, span_from(bytes.data, len), &err))
			buf_clear(&p->line);
		bytes = span_after(bytes, end ? len + 1 : len);
		if (!end)
			return;
		buf_release(&p->last_line);
		p->last_line = p->line;
		buf_init(&p->line, LIMIT_REPLY_ERROR);
		take_line(p);
	}
}

static void on_process_exit(struct process *process UNUSED, int exit_code,
			    void *arg)
{
	struct local_proxy *p = arg;

	loop_timer_stop(p->kill_timer);
	p->handler.on_exit(exit_code, buf_span(&p->last_line), p->arg);
}

static void on_kill_timer(void *arg)
{
	struct local_proxy *p = arg;

	process_signal(p->process, SIGKILL);
}

static int secret_fd(const char *secret)
{
	int fd = memfd_create("octap-key", MFD_CLOEXEC);

	if (fd >= 0 && !file_write_fd(fd, span_of(secret))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* The command line: ours, then what the rollout wants. */
static const char **make_argv(const struct sandbox_host *host,
			      const struct proxy_spec *spec, uid_t uid,
			      char run_as[32])
{
	const char *const ours[] = {
		host->proxy_path,
		"--port",
		"0",
		"--upstream-api-key-file",
		UPSTREAM_KEY_PATH,
		"--client-key-file",
		CLIENT_KEY_PATH,
		"--trace",
		spec->trace_path,
	};
	size_t count = 0, given = 0;
	const char **argv;

	while (spec->options[given])
		given++;
	argv = xcalloc(ARRAY_LEN(ours) + given + 3, sizeof(*argv));
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		argv[count++] = ours[i];
	for (size_t i = 0; i < given; i++)
		argv[count++] = spec->options[i];
	if (uid != (uid_t)-1) {
		snprintf(run_as, 32, "%u:%u", (unsigned)uid, (unsigned)uid);
		argv[count++] = "--run-as";
		argv[count++] = run_as;
	}
	return argv;
}

/* "NAME=value" of each listed variable that is set; the caller frees all. */
static char **make_env(void)
{
	char **env = xcalloc(ARRAY_LEN(passed_variables) + 1, sizeof(*env));
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(passed_variables); i++) {
		const char *value = getenv(passed_variables[i]);

		if (value)
			env[count++] =
				xasprintf("%s=%s", passed_variables[i], value);
	}
	return env;
}

static void free_env(char **env)
{
	for (size_t i = 0; env[i]; i++)
		free(env[i]);
	free(env);
}

static bool start(struct local_proxy *p, const struct sandbox_host *host,
		  const struct proxy_spec *spec, uid_t uid,
		  const struct process_fd *fds, size_t count, struct error *err)
{
	static const struct process_handler handler = { on_output,
							on_process_exit };
	char run_as[32];
	const char **argv = make_argv(host, spec, uid, run_as);
	char **env = make_env();
	const struct process_spec process = {
		.argv = argv,
		.env = (const char *const *)env,
		.fds = fds,
		.fd_count = count,
		.capture_output = true,
		/* When octap dies, the proxy still writes what it has. */
		.death_signal = SIGTERM,
	};

	p->process = process_start(host->loop, &process, &handler, p, err);
	free(argv);
	free_env(env);
	return p->process != NULL;
}

struct local_proxy *local_proxy_start(const struct sandbox_host *host,
				      const struct proxy_spec *spec, uid_t uid,
				      const struct local_proxy_handler *handler,
				      void *arg, struct error *err)
{
	const struct process_fd fds[] = {
		{ open(spec->log_path,
		       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644),
		  FD_LOG },
		{ secret_fd(spec->upstream_key), FD_UPSTREAM_KEY },
		{ secret_fd(spec->client_key), FD_CLIENT_KEY },
	};
	struct local_proxy *p = xcalloc(1, sizeof(*p));
	bool ok = true;

	p->handler = *handler;
	p->arg = arg;
	p->kill_timer = loop_timer_new(host->loop, on_kill_timer, p);
	buf_init(&p->line, LIMIT_REPLY_ERROR);
	buf_init(&p->last_line, LIMIT_REPLY_ERROR);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		if (fds[i].from < 0)
			ok = error_set_errno(err, errno, "open %s",
					     i ? "a key file" : spec->log_path);
	ok = ok && start(p, host, spec, uid, fds, ARRAY_LEN(fds), err);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		if (fds[i].from >= 0)
			close(fds[i].from);
	if (ok)
		return p;
	local_proxy_free(p);
	return NULL;
}

void local_proxy_stop(struct local_proxy *p)
{
	process_signal(p->process, SIGTERM);
	loop_timer_start(p->kill_timer, STOP_MS);
}

void local_proxy_free(struct local_proxy *p)
{
	if (!p)
		return;
	process_free(p->process);
	loop_timer_free(p->kill_timer);
	buf_release(&p->line);
	buf_release(&p->last_line);
	free(p);
}
