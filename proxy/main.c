/* octap-proxy: options, start, loop, stop. */
#include <errno.h>
#include <grp.h>
#include <malloc.h>
#include <nss.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "proxy/config.h"
#include "proxy/proxy.h"
#include "shared/log.h"

enum {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

/*
 * Nobody else's process may look into ours for the key.  What the kernel keeps
 * for each thread is set before there is a second one.
 */
static void harden(void)
{
	const struct rlimit no_core = { 0, 0 };

	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	setrlimit(RLIMIT_CORE, &no_core);
}

/*
 * Names of hosts come from /etc/hosts and DNS, whatever nsswitch.conf says: the
 * modules that it may name belong to another libc and cannot be loaded into a
 * static program.
 */
static void need_no_modules(void)
{
#ifdef OCTAP_STATIC
	__nss_configure_lookup("hosts", "files dns");
#endif
}

/* A descriptor for each connection, on both sides. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Give up being root for good. */
static bool become(uid_t uid, gid_t gid, struct error *err)
{
	int death_signal = 0;

	prctl(PR_GET_PDEATHSIG, &death_signal, 0, 0, 0);
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		return error_set_errno(err, errno, "--run-as %u:%u", uid, gid);
	/*
	 * The kernel forgot it with the old user, and took /proc/sys/fs/
	 * suid_dumpable, which need not be 0, for what harden() had set.
	 */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0) < 0)
		return error_set_errno(err, errno, "--run-as %u:%u", uid, gid);
	return true;
}

static int fail(struct error *err, int code)
{
	log_masked(err->text);
	fprintf(stderr, "octap-proxy: %s\n", err->text);
	return code;
}

static int run(const struct config *config)
{
	struct error err = ERROR_INIT;
	struct proxy proxy;
	bool started = proxy_start(&proxy, config, &err) &&
		       (!config->run_as_uid ||
			become((uid_t)config->run_as_uid,
			       (gid_t)config->run_as_gid, &err)) &&
		       proxy_announce(&proxy, &err);
	int code = EXIT_OK;

	if (started)
		loop_run(proxy.loop);
	else
		code = fail(&err, EXIT_FAILED);
	if (!proxy_stop(&proxy, &err) && started)
		code = fail(&err, EXIT_FAILED);
	return code;
}

int main(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	struct config config;
	int code = EXIT_OK;

	/*
	 * Memory from the kernel costs more than all that is done with the
	 * bytes in it: while calls are under way it is kept for the next.
	 */
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	harden();
	need_no_modules();
	raise_descriptors();
	switch (config_load(&config, argc, argv, &err)) {
	case OPTIONS_OK:
		log_set_level(config.verbose ? LOG_DEBUG : LOG_INFO);
		code = run(&config);
		break;
	case OPTIONS_BAD:
		code = fail(&err, EXIT_USAGE);
		break;
	case OPTIONS_DONE:
		break;
	}
	config_release(&config);
#ifdef __SANITIZE_ADDRESS__
	/* Its leak checker looks into us from a process of its own. */
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
#endif
	return code;
}
