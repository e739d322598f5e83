/* The recorder: what it makes of turns that cannot be written as they are. */
#include "proxy/recorder.h"

#include <dirent.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/limits.h"
#include "shared/loop.h"
#include "shared/trace.h"
#include "tests/unit/vectors.h"

struct test {
	struct folder folder;
	char *path;
	struct loop *loop;
	struct recorder *recorder;
	struct buf log;
	struct capture capture;
	unsigned done, failed;
};

static void open_recorder(struct test *t)
{
	struct error err = ERROR_INIT;

	t->recorder = recorder_open(t->loop, t->path, &err);
	if (!t->recorder)
		fail_msg("%s", err.text);
}

static void set_up(struct test *t, const char *name)
{
	struct error err;

	*t = (struct test){ .log = test_buf() };
	temp_folder_make(&t->folder);
	t->path = folder_file(&t->folder, name);
	t->loop = loop_new(&err);
	assert_non_null(t->loop);
	open_recorder(t);
	capture_begin(&t->capture, STDERR_FILENO);
}

static void tear_down(struct test *t)
{
	struct error err;

	if (t->recorder)
		assert_true(recorder_close(t->recorder, &err));
	loop_free(t->loop);
	temp_folder_remove(&t->folder);
	free(t->path);
	buf_release(&t->log);
}

static void on_done(const struct error *err, void *arg)
{
	struct test *t = arg;

	t->done++;
	t->failed += err != NULL;
}

static void append(struct test *t, uint64_t number, const struct spool *spool)
{
	const struct turn turn = {
		.number = number,
		.attempt = 1,
		.request = SPAN("{}"),
		.response = SPAN("{\"choices\":[]}"),
		.finish_reason = SPAN("\"stop\""),
		.completion_tokens = SPAN("[\"a\"]"),
		.per_token_logps = SPAN("[-0.5]"),
		.token_status = TOKENS_EXACT,
		.complete = true,
		.delivered = true,
	};
	unsigned before = t->done;

	recorder_append(t->recorder, &turn, spool, on_done, t);
	while (t->done == before)
		event_base_loop(loop_base(t->loop), EVLOOP_ONCE);
}

/* The entries of log-probabilities, most of them in the file. */
static void fill(struct test *t, struct spool *spool)
{
	struct error err;

	spool_init(spool, recorder_spill(t->recorder), LIMIT_TURN_PART);
	assert_true(spool_add(spool, SPAN("[{}"), &err));
	for (size_t i = 0; i < LIMIT_TURN_MEMORY; i++)
		assert_true(spool_add(spool, SPAN(",{\"a\":[\"]\"]}"), &err));
	assert_true(spool_add(spool, SPAN("]"), &err));
	assert_false(spool_in_memory(spool));
}

/* The file without a name, found as the system shows it. */
static int spill_file(const struct test *t)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	int fd = -1;

	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		char target[256];
		ssize_t len = readlinkat(dirfd(folder), entry->d_name, target,
					 sizeof(target) - 1);

		if (len <= 0)
			continue;
		target[len] = '\0';
		if (strstr(target, t->folder.path) &&
		    strstr(target, "(deleted)"))
			fd = (int)strtol(entry->d_name, NULL, 10);
	}
	closedir(folder);
	assert_true(fd >= 0);
	return fd;
}

/* The record number N of the file: all that `parts` name are in it. */
static void check_record(const struct test *t, unsigned number,
			 const char *const *parts)
{
	struct error err = ERROR_INIT;
	struct trace_reader *reader = trace_open(t->path, &err);
	struct turn turn;
	struct span line;

	assert_non_null(reader);
	for (unsigned i = 0; i < number; i++)
		if (trace_next(reader, &line, &err) != TRACE_LINE)
			fail_msg("no record %u", number);
	if (!turn_decode(line, &turn, &err))
		fail_msg("record %u: %s", number, err.text);
	assert_int_equal(turn.number, number);
	for (; *parts; parts++)
		if (!span_contains(line, *parts))
			fail_msg("record %u: no %s", number, *parts);
	trace_reader_free(reader);
}

static const char *const whole[] = { "\"complete\":true",
				     "\"token_status\":\"exact\"", NULL };
static const char *const maimed[] = {
	"\"logprobs\":null",
	"\"per_token_logps\":[-0.5]",
	"\"token_status\":\"mismatch\"",
	"\"complete\":false",
	"\"abort_reason\":\"the proxy lost the log-probabilities: read the "
	"spill "
	"file: Input/output error\"",
	NULL,
};

/* `left`: how much of the spill file can still be read. */
static void check_unreadable(const char *name, off_t left)
{
	struct spool first, second;
	struct test t;
	struct error err;

	set_up(&t, name);
	append(&t, 1, NULL);
	fill(&t, &first);
	append(&t, 2, &first);
	check_record(&t, 2, whole);
	assert_int_equal(ftruncate(spill_file(&t), left), 0);
	append(&t, 3, &first);
	check_record(&t, 3, maimed);
	append(&t, 4, NULL);
	check_record(&t, 4, whole);
	spool_release(&first);
	assert_int_equal(t.failed, 0);
	assert_int_equal(recorder_errors(t.recorder), 0);

	/* The next ones stay where they can be read. */
	spool_init(&second, recorder_spill(t.recorder), LIMIT_TURN_PART);
	for (size_t i = 0; i < LIMIT_TURN_MEMORY; i++)
		assert_true(spool_add(&second, SPAN("ab"), &err));
	assert_true(spool_in_memory(&second));
	spool_release(&second);

	/* Another proxy can go on with the file. */
	assert_true(recorder_close(t.recorder, &err));
	open_recorder(&t);
	assert_int_equal(recorder_last_turn(t.recorder), 4);
	check_record(&t, 3, maimed);
	capture_end(&t.capture, &t.log);
	assert_true(
		span_contains(buf_span(&t.log),
			      "turn 3: the proxy lost the log-probabilities"));
	tear_down(&t);
}

static void test_recorder__what_cannot_be_read_back_is_left_out(
	void **state UNUSED)
{
	for (off_t extents = 0; extents < 3; extents++) {
		check_unreadable("trace.jsonl.zst",
				 extents * LIMIT_TURN_MEMORY);
		check_unreadable("trace.jsonl", extents * LIMIT_TURN_MEMORY);
	}
	check_unreadable("trace.jsonl.zst", LIMIT_TURN_MEMORY + 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_recorder__what_cannot_be_read_back_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
