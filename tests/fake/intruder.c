/*
 * Tries to break out of a sandbox, and says for each try what came of it:
 *
 *	intruder attack [PATH]...	NAME refused|SUCCEEDED, one a line; the
 *					paths are to be out of reach
 *	intruder search TEXT [PID]...	where the text stands that is TEXT read
 *					backwards: in environments, command
 *					lines, memories, descriptors, files;
 *					or in those processes alone
 *
 * The tries named allowed_... are to succeed: they show that a success is seen.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Bytes; what is larger is a sanitizer's, reserved and never read in time. */
#define SHADOW_MEMORY (1ull << 40)

#include "shared/compiler.h"

/* --- Attacks: true is a success. ---------------------------------------- */

static bool can_open(const char *path, int flags)
{
	int fd = open(path, flags | O_NONBLOCK | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool remount_root(void)
{
	return mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL) == 0;
}

static bool remount_usr(void)
{
	return mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL) == 0;
}

static bool mount_tmpfs(void)
{
	return mount("x", "/tmp", "tmpfs", 0, NULL) == 0;
}

static bool mount_proc(void)
{
	return mount("x", "/tmp", "proc", 0, NULL) == 0;
}

static bool mount_bind(void)
{
	return mount("/usr", "/tmp", NULL, MS_BIND, NULL) == 0;
}

static bool open_filesystem(void)
{
	return syscall(SYS_fsopen, "tmpfs", 0) >= 0;
}

static bool clone_tree(void)
{
	return syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */) >=
	       0;
}

static bool unmount_usr(void)
{
	return umount2("/usr", MNT_DETACH) == 0;
}

static bool change_root(void)
{
	return chroot("/tmp") == 0;
}

static bool pivot(void)
{
	return syscall(SYS_pivot_root, "/tmp", "/tmp") == 0;
}

static bool mknod_null(void)
{
	return mknod("/tmp/null", S_IFCHR | 0666, makedev(1, 3)) == 0;
}

static bool mknod_disk(void)
{
	return mknod("/tmp/disk", S_IFBLK | 0666, makedev(8, 0)) == 0;
}

/* In a child: a success would change what the other tries may do. */
static bool succeeds_in_child(bool (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fn() ? 0 : 1);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

static bool new_user_namespace(void)
{
	return unshare(CLONE_NEWUSER) == 0;
}

static bool new_mount_namespace(void)
{
	return unshare(CLONE_NEWNS) == 0;
}

static bool unshare_user(void)
{
	return succeeds_in_child(new_user_namespace);
}

static bool unshare_mounts(void)
{
	return succeeds_in_child(new_mount_namespace);
}

static bool enter(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && setns(fd, 0) == 0;
}

static bool enter_user_of_init(void)
{
	return enter("/proc/1/ns/user");
}

static bool enter_mounts_of_init(void)
{
	return enter("/proc/1/ns/mnt");
}

static bool become_root(void)
{
	return setuid(0) == 0 || setgid(0) == 0 || setresuid(0, 0, 0) == 0;
}

static bool name_host(void)
{
	return sethostname("mine", 4) == 0;
}

static char state_of(pid_t pid)
{
	char path[32], text[512] = "";
	const char *end;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return '?';
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = '\0';
	close(fd);
	end = strrchr(text, ')');
	return end ? end[2] : '?';
}

/* That the call returns 0 says nothing: does the signal do anything? */
static bool kill_with(pid_t pid, int signal_number)
{
	if (kill(pid, signal_number) < 0)
		return false;
	usleep(20000);
	return !strchr("SR", state_of(pid));
}

static bool kill_init(void)
{
	return kill_with(1, SIGKILL) || kill_with(1, SIGTERM);
}

static bool stop_init(void)
{
	return kill_with(1, SIGSTOP);
}

static bool trace(pid_t pid)
{
	if (ptrace(PTRACE_ATTACH, pid, NULL, NULL) < 0)
		return false;
	waitpid(pid, NULL, __WALL);
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	return true;
}

static bool trace_init(void)
{
	return trace(1);
}

static bool write_memory_of_init(void)
{
	return can_open("/proc/1/mem", O_RDWR);
}

static pid_t start_child(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	return pid;
}

static bool kill_child(void)
{
	pid_t pid = start_child();
	bool killed = kill_with(pid, SIGKILL);

	waitpid(pid, NULL, 0);
	return killed;
}

static bool trace_child(void)
{
	pid_t pid = start_child();
	bool traced = trace(pid);

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return traced;
}

static const struct attack {
	const char *name;
	bool (*run)(void); /* or, NULL, opening */
	const char *path;
	int flags;
} attacks[] = {
	{ .name = "remount_root", .run = remount_root },
	{ .name = "remount_usr", .run = remount_usr },
	{ .name = "mount_tmpfs", .run = mount_tmpfs },
	{ .name = "mount_proc", .run = mount_proc },
	{ .name = "mount_bind", .run = mount_bind },
	{ .name = "open_filesystem", .run = open_filesystem },
	{ .name = "clone_tree", .run = clone_tree },
	{ .name = "unmount_usr", .run = unmount_usr },
	{ .name = "change_root", .run = change_root },
	{ .name = "pivot", .run = pivot },
	{ .name = "mknod_null", .run = mknod_null },
	{ .name = "mknod_disk", .run = mknod_disk },
	{ .name = "unshare_user", .run = unshare_user },
	{ .name = "unshare_mounts", .run = unshare_mounts },
	{ .name = "enter_user_of_init", .run = enter_user_of_init },
	{ .name = "enter_mounts_of_init", .run = enter_mounts_of_init },
	{ .name = "become_root", .run = become_root },
	{ .name = "name_host", .run = name_host },
	{ .name = "kill_init", .run = kill_init },
	{ .name = "stop_init", .run = stop_init },
	{ .name = "trace_init", .run = trace_init },
	{ .name = "write_memory_of_init", .run = write_memory_of_init },
	{ .name = "read_shadow", .path = "/etc/shadow" },
	{ .name = "read_gshadow", .path = "/etc/gshadow" },
	{ .name = "list_root_home", .path = "/root" },
	{ .name = "list_sys", .path = "/sys" },
	{ .name = "open_terminal", .path = "/dev/tty", .flags = O_RDWR },
	{ .name = "read_memory", .path = "/dev/mem" },
	{ .name = "read_kernel_log", .path = "/dev/kmsg" },
	{ .name = "write_root", .path = "/x", .flags = O_CREAT | O_WRONLY },
	{ .name = "write_usr", .path = "/usr/x", .flags = O_CREAT | O_WRONLY },
	{ .name = "write_bin", .path = "/usr/bin/bash", .flags = O_WRONLY },
	{ .name = "write_etc", .path = "/etc/x", .flags = O_CREAT | O_WRONLY },
	{ .name = "write_passwd", .path = "/etc/passwd", .flags = O_WRONLY },
	{ .name = "write_opt", .path = "/opt/x", .flags = O_CREAT | O_WRONLY },
	{ .name = "write_agent",
	  .path = "/opt/octap/agent",
	  .flags = O_WRONLY },
	{ .name = "write_core_pattern",
	  .path = "/proc/sys/kernel/core_pattern",
	  .flags = O_WRONLY },
	{ .name = "press_sysrq",
	  .path = "/proc/sysrq-trigger",
	  .flags = O_WRONLY },
	{ .name = "allowed_read", .path = "/etc/passwd" },
	{ .name = "allowed_write",
	  .path = "/tmp/x",
	  .flags = O_CREAT | O_WRONLY },
	{ .name = "allowed_kill", .run = kill_child },
	{ .name = "allowed_trace", .run = trace_child },
};

static void say(const char *name, bool succeeded)
{
	printf("%s %s\n", name, succeeded ? "SUCCEEDED" : "refused");
	fflush(stdout);
}

static void attack(char *const *paths)
{
	for (size_t i = 0; i < ARRAY_LEN(attacks); i++)
		say(attacks[i].name,
		    attacks[i].run
			    ? attacks[i].run()
			    : can_open(attacks[i].path, attacks[i].flags));
	for (; *paths; paths++)
		say(*paths, access(*paths, F_OK) == 0);
}

/* --- Searching. --------------------------------------------------------- */

static const char *backwards; /* so that our own memory does not hold it */
static size_t wanted_len;

static bool stands_at(const char *data)
{
	for (size_t i = 0; i < wanted_len; i++)
		if (data[i] != backwards[wanted_len - 1 - i])
			return false;
	return true;
}

static bool is_in(const char *data, size_t len)
{
	const char *end = data + len - wanted_len + 1;

	while (data < end && (data = memchr(data, backwards[wanted_len - 1],
					    (size_t)(end - data)))) {
		if (stands_at(data))
			return true;
		data++;
	}
	return false;
}

/* From here to `end` (0: the file's), with an overlap between the reads. */
static bool is_in_file(int fd, off_t offset, off_t end)
{
	static char chunk[1 << 20];
	bool found = false;

	while (!found && (!end || offset < end)) {
		size_t most = sizeof(chunk);
		ssize_t got;

		if (end && end - offset < (off_t)most)
			most = (size_t)(end - offset);
		got = pread(fd, chunk, most, offset);
		if (got < (ssize_t)wanted_len)
			break;
		found = is_in(chunk, (size_t)got);
		offset += got - (ssize_t)wanted_len + 1;
	}
	memset(chunk, 0, sizeof(chunk));
	return found;
}

static bool path_holds(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	bool found = fd >= 0 && fstat(fd, &status) == 0 &&
		     S_ISREG(status.st_mode) && is_in_file(fd, 0, 0);

	if (fd >= 0)
		close(fd);
	return found;
}

static void search_memory(const char *dir)
{
	char path[300], line[512];
	unsigned long long from, to;
	char readable;
	FILE *maps;
	int mem;

	snprintf(path, sizeof(path), "%s/mem", dir);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s/maps", dir);
	maps = fopen(path, "re");
	while (mem >= 0 && maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%llx-%llx %c", &from, &to, &readable) == 3 &&
		    readable == 'r' && to - from < SHADOW_MEMORY &&
		    !strstr(line, "[vvar") &&
		    is_in_file(mem, (off_t)from, (off_t)to))
			printf("memory %s %s", dir, line);
	if (maps)
		fclose(maps);
	if (mem >= 0)
		close(mem);
}

static void search_fds(const char *dir)
{
	char path[300], entry_path[600];
	struct dirent *entry;
	DIR *fds;

	snprintf(path, sizeof(path), "%s/fd", dir);
	fds = opendir(path);
	while (fds && (entry = readdir(fds))) {
		snprintf(entry_path, sizeof(entry_path), "%s/%s", path,
			 entry->d_name);
		if (path_holds(entry_path))
			printf("fd %s\n", entry_path);
	}
	if (fds)
		closedir(fds);
}

static void search_process(const char *pid)
{
	static const char *const texts[] = { "environ", "cmdline" };
	char dir[280], path[300];

	snprintf(dir, sizeof(dir), "/proc/%s", pid);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, texts[i]);
		if (path_holds(path))
			printf("%s %s\n", texts[i], dir);
	}
	search_memory(dir);
	search_fds(dir);
}

static int on_file(const char *path, const struct stat *status UNUSED, int type,
		   struct FTW *ftw UNUSED)
{
	if (type == FTW_F && path_holds(path))
		printf("file %s\n", path);
	return 0;
}

static void search(void)
{
	static const char *const folders[] = { "/home", "/tmp", "/etc", "/opt",
					       "/run",  "/var", "/dev" };
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			search_process(entry->d_name);
	if (proc)
		closedir(proc);
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		nftw(folders[i], on_file, 20, FTW_PHYS);
}

int main(int argc, char **argv)
{
	if (argc >= 2 && !strcmp(argv[1], "attack")) {
		attack(argv + 2);
		return 0;
	}
	if (argc >= 3 && !strcmp(argv[1], "search")) {
		backwards = argv[2];
		wanted_len = strlen(backwards);
		for (int i = 3; i < argc; i++)
			search_process(argv[i]);
		if (argc == 3)
			search();
		return 0;
	}
	fprintf(stderr,
		"usage: intruder attack [PATH]...|search TEXT [PID]...\n");
	return 2;
}
