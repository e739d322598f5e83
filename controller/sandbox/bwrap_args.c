/* bubblewrap's command line. */
#include "controller/sandbox/bwrap_args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "controller/sandbox/sandbox.h"
#include "shared/compiler.h"

/* Bytes of the folders in memory; --dev itself takes no size. */
#define SHM_SIZE     "268435456"
#define RUN_SIZE     "16777216"
#define VAR_TMP_SIZE "268435456"
#define EMPTY_SIZE   "4096"

/* What of /etc is seen inside, as far as it exists. */
static const char *const etc_files[] = {
	"alternatives",   "bash.bashrc",     "ca-certificates",
	"debian_version", "gai.conf",        "host.conf",
	"hosts",          "inputrc",         "ld.so.cache",
	"ld.so.conf",     "ld.so.conf.d",    "locale.alias",
	"localtime",      "magic",           "mime.types",
	"nsswitch.conf",  "os-release",      "perl",
	"profile",        "protocols",       "python3",
	"python3.11",     "resolv.conf",     "services",
	"ssl/certs",      "ssl/openssl.cnf", "terminfo",
	"timezone",
};

static const char *const system_folders[] = {
	"bin", "sbin", "lib", "lib32", "lib64", "libx32",
};

/* A NUL-terminated argument, as --args reads them. */
static void put(struct buf *args, const char *text)
{
	struct error err;

	if (!buf_add(args, span_from(text, strlen(text) + 1), &err))
		abort(); /* they are ours and few */
}

static void put2(struct buf *args, const char *a, const char *b)
{
	put(args, a);
	put(args, b);
}

static void put3(struct buf *args, const char *a, const char *b, const char *c)
{
	put2(args, a, b);
	put(args, c);
}

/* /bin and the like are links into /usr on most systems, folders on some. */
static void add_system_folder(struct buf *args, const char *name)
{
	char path[32], target[256];
	ssize_t len;

	snprintf(path, sizeof(path), "/%s", name);
	len = readlink(path, target, sizeof(target) - 1);
	if (len >= 0) {
		target[len] = '\0';
		put3(args, "--symlink", target, path);
	} else {
		put3(args, "--ro-bind-try", path, path);
	}
}

static void add_data_file(struct buf *args, int fd, const char *path)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", fd);
	put2(args, "--perms", "0644");
	put3(args, "--ro-bind-data", number, path);
}

/* In memory: without a size half of the host's. */
static void add_tmpfs(struct buf *args, const char *path, const char *size)
{
	put2(args, "--perms", "1777");
	put2(args, "--size", size);
	put2(args, "--tmpfs", path);
}

/* Made by itself, a parent folder would be closed to others than its owner. */
static void add_parents(struct buf *args)
{
	static const char *const folders[] = { "/etc", "/etc/ssl",   "/home",
					       "/opt", "/opt/octap", "/var" };

	for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
		put2(args, "--perms", "0755");
		put2(args, "--dir", folders[i]);
	}
}

/* Sources of whatever was built on this host, perhaps of the tasks, too. */
static const char *const hidden_folders[] = { "/usr/src", "/usr/local/src" };

static void add_hidden(struct buf *args)
{
	struct stat status;

	for (size_t i = 0; i < ARRAY_LEN(hidden_folders); i++) {
		const char *path = hidden_folders[i];

		if (lstat(path, &status) < 0 || !S_ISDIR(status.st_mode))
			continue;
		put2(args, "--size", EMPTY_SIZE);
		put2(args, "--tmpfs", path);
		put2(args, "--remount-ro", path);
	}
}

static void add_system(struct buf *args)
{
	add_parents(args);
	put3(args, "--ro-bind", "/usr", "/usr");
	add_hidden(args);
	for (size_t i = 0; i < ARRAY_LEN(system_folders); i++)
		add_system_folder(args, system_folders[i]);
	for (size_t i = 0; i < ARRAY_LEN(etc_files); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/etc/%s", etc_files[i]);
		put3(args, "--ro-bind-try", path, path);
	}
	add_data_file(args, BWRAP_FD_PASSWD, "/etc/passwd");
	add_data_file(args, BWRAP_FD_GROUP, "/etc/group");
	put2(args, "--proc", "/proc");
	put2(args, "--dev", "/dev");
	add_tmpfs(args, "/dev/shm", SHM_SIZE);
	put2(args, "--remount-ro", "/dev");
	add_tmpfs(args, "/run", RUN_SIZE);
	add_tmpfs(args, "/var/tmp", VAR_TMP_SIZE);
}

static void add_binds(struct buf *args,
		      const char *const sources[BWRAP_BIND_COUNT], bool staged)
{
	static const char *const options[] = { "--bind", "--bind",
					       "--ro-bind" };
	static const char *const targets[] = { SANDBOX_HOME, SANDBOX_TMP,
					       SANDBOX_AGENT_PATH };

	for (int i = 0; i < BWRAP_BIND_COUNT; i++) {
		char path[] = "/tmp/0";

		path[5] = (char)('0' + i);
		if (sources[i])
			put3(args, options[i], staged ? path : sources[i],
			     targets[i]);
	}
}

static void add_namespaces(struct buf *args)
{
	static const char *const flags[] = {
		"--die-with-parent", "--new-session",    "--as-pid-1",
		"--unshare-user",    "--disable-userns", "--unshare-pid",
		"--unshare-ipc",     "--unshare-uts",    "--unshare-cgroup-try",
		"--clearenv",
	};

	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		put(args, flags[i]);
	put2(args, "--hostname", "octap");
	put2(args, "--uid", "1000");
	put2(args, "--gid", "1000");
	put2(args, "--cap-drop", "ALL");
	/*
	 * Of no use in a user namespace; but the jobs, which have none, may
	 * not trace or look into a process that has one: the holder.
	 */
	put2(args, "--cap-add", "CAP_WAKE_ALARM");
	put3(args, "--setenv", "PATH", "/usr/bin:/bin");
}

void bwrap_args_build(struct buf *args,
		      const char *const sources[BWRAP_BIND_COUNT], bool staged)
{
	add_namespaces(args);
	add_system(args);
	add_binds(args, sources, staged);
	put2(args, "--remount-ro", "/");
}

static bool is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return !strncmp(path, folder, len) && (!path[len] || path[len] == '/');
}

bool bwrap_args_shows(const char *path)
{
	char seen[64];

	for (size_t i = 0; i < ARRAY_LEN(hidden_folders); i++)
		if (is_below(path, hidden_folders[i]))
			return false;
	for (size_t i = 0; i < ARRAY_LEN(system_folders); i++) {
		snprintf(seen, sizeof(seen), "/%s", system_folders[i]);
		if (is_below(path, seen))
			return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(etc_files); i++) {
		snprintf(seen, sizeof(seen), "/etc/%s", etc_files[i]);
		if (is_below(path, seen))
			return true;
	}
	return is_below(path, "/usr");
}
