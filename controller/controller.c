/* The surroundings of rollouts. */
#include "controller/controller.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shared/mem.h"
#include "shared/span.h"

enum { EXIT_ABANDONED = 130 };

static bool is_program(const char *path)
{
	return access(path, X_OK) == 0;
}

static char *beside_ourselves(const char *name)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash, *found;

	if (len <= 0)
		return NULL;
	path[len] = '\0';
	slash = strrchr(path, '/');
	found = xasprintf("%.*s/%s", (int)(slash - path), path, name);
	if (is_program(found))
		return found;
	free(found);
	return NULL;
}

static char *in_search_path(const char *name)
{
	const char *list = getenv("PATH");

	while (list && *list) {
		size_t len = strcspn(list, ":");
		char *path = xasprintf("%.*s/%s", (int)len, list, name);

		if (len && is_program(path))
			return path;
		free(path);
		list += len + (list[len] == ':');
	}
	return NULL;
}

char *controller_find_program(const char *name)
{
	char *path = beside_ourselves(name);

	return path ? path : in_search_path(name);
}

static void on_signal(int number UNUSED, void *arg)
{
	struct controller *c = arg;

	if (c->stopping) {
		c->on_abandon(c->arg);
		_exit(EXIT_ABANDONED);
	}
	c->stopping = true;
	c->on_stop(c->arg);
}

bool controller_on_signal(struct loop *loop, int number, loop_signal_fn *fn,
			  void *arg, struct error *err)
{
	struct sigaction old;

	return (sigaction(number, NULL, &old) == 0 &&
		old.sa_handler == SIG_IGN) ||
	       loop_on_signal(loop, number, fn, arg, err);
}

static char *make_state_dir(void)
{
	const char *tmp = getenv("TMPDIR");

	return xasprintf("%s/octap-%u", tmp && *tmp == '/' ? tmp : "/tmp",
			 (unsigned)geteuid());
}

bool controller_init(struct controller *c, controller_stop_fn *on_stop,
		     controller_stop_fn *on_abandon, void *arg,
		     struct error *err)
{
	*c = (struct controller){
		.on_stop = on_stop,
		.on_abandon = on_abandon,
		.arg = arg,
	};
	c->loop = loop_new(err);
	if (!c->loop)
		return false;
	c->proxy_path = controller_find_program("octap-proxy");
	c->state_dir = make_state_dir();
	c->host = (struct sandbox_host){
		.loop = c->loop,
		.proxy_path = c->proxy_path,
		.state_dir = c->state_dir,
	};
	if (!c->proxy_path)
		return error_set(err, ERROR_USAGE,
				 "octap-proxy is neither beside octap nor in "
				 "PATH: install both");
	return controller_on_signal(c->loop, SIGINT, on_signal, c, err) &&
	       controller_on_signal(c->loop, SIGTERM, on_signal, c, err) &&
	       controller_on_signal(c->loop, SIGHUP, on_signal, c, err);
}

void controller_release(struct controller *c)
{
	loop_free(c->loop);
	free(c->proxy_path);
	free(c->state_dir);
}

void controller_harden(void)
{
	const struct rlimit no_core = { 0, 0 };

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0)
			open("/dev/null",
			     fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	setrlimit(RLIMIT_CORE, &no_core);
}
