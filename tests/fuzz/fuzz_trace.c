/*
 * The trace reader on any bytes: it comes to an end, and its lines are lines.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/file.h"
#include "shared/trace.h"
#include "tests/fuzz/fuzz.h"

/* A small input may stand for gigabytes; this much of them is looked at. */
#define LINES_LOOKED_AT 10000

static void read_all(const char *path)
{
	struct error err;
	struct trace_reader *reader = trace_open(path, &err);
	struct span line;

	MUST(reader);
	for (int i = 0; i < LINES_LOOKED_AT; i++) {
		if (trace_next(reader, &line, &err) != TRACE_LINE)
			break;
		MUST(!memchr(line.data, '\n', line.len));
	}
	trace_reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);
	char path[64];

	MUST(fd >= 0 && file_write_fd(fd, input_span(data, size)));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	read_all(path);
	close(fd);
	return 0;
}
