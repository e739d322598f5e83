/*
 * What appending a record costs: the lines of a trace, written once more.
 *
 *	bench_append TRACE SCRATCH
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "shared/clock.h"
#include "shared/mem.h"
#include "shared/trace.h"

static NO_RETURN void die(const struct error *err)
{
	fprintf(stderr, "bench_append: %s\n", err->text);
	exit(1);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	struct trace_reader *from;
	struct trace_writer *to;
	uint64_t *us = NULL, sum = 0, bytes = 0;
	size_t count = 0;
	struct span line;
	struct error err;

	if (argc != 3)
		return 2;
	from = trace_open(argv[1], &err);
	to = from ? trace_create(argv[2], &err) : NULL;
	if (!to)
		die(&err);
	while (trace_next(from, &line, &err) == TRACE_LINE) {
		uint64_t begin = clock_monotonic_us();

		if (!trace_append(to, line, &err))
			die(&err);
		us = xrealloc_array(us, count + 1, sizeof(*us));
		us[count] = clock_monotonic_us() - begin;
		sum += us[count++];
		bytes += line.len + 1;
	}
	trace_reader_free(from);
	trace_writer_free(to);
	unlink(argv[2]);
	if (!count)
		return 1;
	qsort(us, count, sizeof(*us), compare);
	printf("records=%zu bytes=%llu median_ms=%.2f max_ms=%.2f rate=%.0f\n",
	       count, (unsigned long long)bytes, (double)us[count / 2] / 1000,
	       (double)us[count - 1] / 1000,
	       sum ? (double)bytes / (double)sum : 0);
	free(us);
	return 0;
}
