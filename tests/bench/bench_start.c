/*
 * How long octap-proxy takes from exec to its first answer to /healthz, and how
 * much memory it then holds.  `true` is started the same way as the floor: what
 * fork, exec and exit cost on this machine.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/clock.h"
#include "shared/json_scan.h"
#include "shared/json_text.h"
#include "shared/mem.h"

#define RUNS 30

static NO_RETURN void die(const char *what)
{
	fprintf(stderr, "bench_start: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double median_ms(uint64_t us[RUNS])
{
	qsort(us, RUNS, sizeof(*us), compare);
	return (double)us[RUNS / 2] / 1000;
}

static pid_t start(char *const argv[], int *out)
{
	int fds[2];
	pid_t pid;

	if (pipe(fds) < 0 || (pid = fork()) < 0)
		die("start");
	if (pid == 0) {
		dup2(fds[1], STDOUT_FILENO);
		close(fds[0]);
		close(fds[1]);
		execvp(argv[0], argv);
		_exit(127);
	}
	close(fds[1]);
	*out = fds[0];
	return pid;
}

static unsigned read_port(int fd)
{
	char line[512];
	ssize_t len = read(fd, line, sizeof(line));
	struct json_value port;
	uint64_t number = 0;

	if (len <= 0 ||
	    !json_find(span_from(line, (size_t)len), "port", &port) ||
	    !json_to_u64(port, &number))
		die("no port");
	return (unsigned)number;
}

static void ask_health(unsigned port)
{
	static const char request[] =
		"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char answer[1024];
	ssize_t len;

	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    write(fd, request, sizeof(request) - 1) < 0 ||
	    (len = read(fd, answer, sizeof(answer))) < 15 ||
	    memcmp(answer, "HTTP/1.1 200", 12) != 0)
		die("/healthz");
	close(fd);
}

static unsigned long resident_kib(pid_t pid)
{
	unsigned long kib = 0;
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "VmRSS:", 6))
			kib = strtoul(line + 6, NULL, 10);
	if (f)
		fclose(f);
	return kib;
}

static uint64_t run_true(void)
{
	char *argv[] = { (char[]){ "true" }, NULL };
	uint64_t begin = clock_monotonic_us();
	int out;

	waitpid(start(argv, &out), NULL, 0);
	close(out);
	return clock_monotonic_us() - begin;
}

static uint64_t run_proxy(char *path, char *trace, unsigned long *kib)
{
	char *argv[] = {
		path,
		(char[]){ "--upstream-url" },
		(char[]){ "http://127.0.0.1:9" },
		(char[]){ "--port" },
		(char[]){ "0" },
		(char[]){ "--trace" },
		trace,
		NULL,
	};
	uint64_t begin = clock_monotonic_us(), took;
	int out;
	pid_t pid = start(argv, &out);

	ask_health(read_port(out));
	took = clock_monotonic_us() - begin;
	*kib = resident_kib(pid);
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	close(out);
	unlink(trace);
	return took;
}

int main(int argc, char **argv)
{
	char trace[] = "/tmp/octap-bench-XXXXXX.jsonl.zst";
	uint64_t floor_us[RUNS], proxy_us[RUNS];
	unsigned long kib = 0;
	double base, proxy;

	if (argc != 2) {
		fprintf(stderr, "usage: bench_start OCTAP-PROXY\n");
		return 2;
	}
	close(mkstemps(trace, (int)strlen(".jsonl.zst")));
	unlink(trace);
	for (size_t i = 0; i < RUNS; i++) {
		floor_us[i] = run_true();
		proxy_us[i] = run_proxy(argv[1], trace, &kib);
	}
	base = median_ms(floor_us);
	proxy = median_ms(proxy_us);
	printf("exec to /healthz      %8.2f ms   (exec of true: %.2f ms; aim: "
	       "under 5 ms)\n",
	       proxy, base);
	printf("resident, idle        %8.2f MB\n", (double)kib / 1024);
	return 0;
}
