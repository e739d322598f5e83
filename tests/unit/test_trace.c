/* Trace files: whole at every moment, nothing lost by what can be kept. */
#include "shared/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "shared/file.h"
#include "shared/mem.h"
#include "shared/turn.h"
#include "tests/unit/generate.h"
#include "tests/unit/vectors.h"

static struct folder folder;
static char *compressed, *plain, *torn;

static int set_up(void **state UNUSED)
{
	temp_folder_make(&folder);
	compressed = folder_file(&folder, "trace.jsonl.zst");
	plain = folder_file(&folder, "trace.jsonl");
	torn = folder_file(&folder, "torn.jsonl.zst");
	return 0;
}

static int tear_down(void **state UNUSED)
{
	temp_folder_remove(&folder);
	free(compressed);
	free(plain);
	free(torn);
	return 0;
}

static struct trace_writer *create(const char *path)
{
	struct error err = ERROR_INIT;
	struct trace_writer *writer = trace_create(path, &err);

	if (!writer)
		fail_msg("%s", err.text);
	return writer;
}

/* Record number i: some `size` bytes, half of them like those before. */
static void make_record(struct buf *line, unsigned i, size_t size)
{
	struct rng rng = rng_seeded(i);

	buf_clear(line);
	putf(line, "{\"schema\":\"" TURN_SCHEMA "\",\"turn\":%u,\"x\":\"", i);
	while (line->len + 2 < size)
		putf(line, "%016llx history ",
		     (unsigned long long)rng_next(&rng));
	put(line, SPAN("\"}"));
}

/* Append records first to last; `all` gets what the file should then hold. */
static void append_records(struct trace_writer *writer, unsigned first,
			   unsigned last, size_t size, struct buf *all)
{
	struct error err = ERROR_INIT;
	struct buf line = test_buf();

	for (unsigned i = first; i <= last; i++) {
		make_record(&line, i, size);
		if (!trace_append(writer, buf_span(&line), &err))
			fail_msg("%s", err.text);
		put(all, buf_span(&line));
		put(all, SPAN("\n"));
	}
	buf_release(&line);
}

/* The zstd library, asked once for all of it, gets this and nothing else. */
static void check_frame(const char *path, struct span expected)
{
	struct buf file;
	char *text = xmalloc(expected.len + 1000);
	size_t len;

	load(path, &file);
	assert_int_equal(ZSTD_findFrameCompressedSize(file.data, file.len),
			 file.len);
	len = ZSTD_decompress(text, expected.len + 1000, file.data, file.len);
	if (ZSTD_isError(len))
		fail_msg("zstd: %s", ZSTD_getErrorName(len));
	check_bytes("file", span_from(text, len), expected);
	free(text);
	buf_release(&file);
}

static void check_plain(const char *path, struct span expected)
{
	struct buf file;

	load(path, &file);
	check_bytes("file", buf_span(&file), expected);
	buf_release(&file);
}

static void check_file(const char *path, const struct buf *expected)
{
	if (path == plain)
		check_plain(path, buf_span(expected));
	else
		check_frame(path, buf_span(expected));
}

/* Add all lines to `text`; how it ended. */
static enum trace_read read_lines(const char *path, struct buf *text)
{
	struct error err = ERROR_INIT;
	struct trace_reader *reader = trace_open(path, &err);
	enum trace_read result;
	struct span line;

	assert_non_null(reader);
	while ((result = trace_next(reader, &line, &err)) == TRACE_LINE) {
		put(text, line);
		put(text, SPAN("\n"));
	}
	trace_reader_free(reader);
	return result;
}

static void check_lines(const char *path, const struct buf *expected,
			enum trace_read end)
{
	struct buf text = test_buf();

	assert_int_equal(read_lines(path, &text), end);
	check_bytes("lines", buf_span(&text), buf_span(expected));
	buf_release(&text);
}

static off_t size_of(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return status.st_size;
}

/* --- Whole at every moment. --------------------------------------------- */

static void check_every_append(const char *path, unsigned count, size_t size)
{
	struct trace_writer *writer = create(path);
	struct buf all = test_buf();

	check_file(path, &all);
	for (unsigned i = 1; i <= count; i++) {
		append_records(writer, i, i, size, &all);
		check_file(path, &all);
		check_lines(path, &all, TRACE_END);
	}
	trace_writer_free(writer);
	check_file(path, &all);
	buf_release(&all);
	unlink(path);
}

static void test_trace__every_prefix_of_appends_is_whole(void **state UNUSED)
{
	check_every_append(compressed, 40, 200);
	check_every_append(compressed, 6, 300000);
	check_every_append(plain, 10, 200);
	check_every_append(plain, 3, 300000);
}

static void test_trace__file_is_the_owners_alone(void **state UNUSED)
{
	struct trace_writer *writer = create(compressed);
	struct stat status;

	assert_int_equal(stat(compressed, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_equal(trace_last_turn(writer), 0);
	trace_writer_free(writer);
}

static void test_trace__repeated_history_costs_little(void **state UNUSED)
{
	struct trace_writer *writer = create(compressed);
	struct buf all = test_buf(), line = test_buf();
	struct error err;
	off_t before;

	append_records(writer, 1, 1, 1000000, &all);
	before = size_of(compressed);
	make_record(&line, 1, 1000000);
	for (int i = 0; i < 5; i++)
		assert_true(trace_append(writer, buf_span(&line), &err));
	assert_true(size_of(compressed) - before < 20000);
	trace_writer_free(writer);
	buf_release(&line);
	buf_release(&all);
}

/* --- After a crash. ----------------------------------------------------- */

/* The file's first `len` bytes give a beginning of the records. */
static size_t check_truncated(struct span file, size_t len,
			      const struct buf *all)
{
	struct buf text = test_buf();
	enum trace_read end;
	struct error err;
	size_t got;

	assert_true(file_write(torn, span_from(file.data, len), &err));
	end = read_lines(torn, &text);
	if (len == file.len)
		assert_int_equal(end, TRACE_END);
	else if (len)
		assert_int_equal(end, TRACE_TRUNCATED);
	got = text.len;
	check_bytes("lines", buf_span(&text),
		    span_from(all->data ? all->data : "", got));
	buf_release(&text);
	return got;
}

/* Cut anywhere: what was written before the cut is read. */
static void test_trace__reads_up_to_where_it_was_cut(void **state UNUSED)
{
	struct trace_writer *writer = create(compressed);
	struct buf all = test_buf(), file;
	size_t ends[7], lens[7], got = 0;

	for (unsigned i = 0; i < ARRAY_LEN(ends); i++) {
		append_records(writer, i, i, 60 + 40 * i, &all);
		ends[i] = (size_t)size_of(compressed) - 3;
		lens[i] = all.len;
	}
	trace_writer_free(writer);
	load(compressed, &file);
	for (size_t len = 0; len <= file.len; len++) {
		size_t more = check_truncated(buf_span(&file), len, &all);

		assert_true(more >= got);
		got = more;
		for (size_t i = 0; i < ARRAY_LEN(ends); i++)
			if (len >= ends[i])
				assert_true(got >= lens[i]);
	}
	assert_int_equal(got, all.len);
	buf_release(&file);
	buf_release(&all);
}

/* Blocks that the decoder still holds when the file ends are not lost. */
static void test_trace__large_records_survive_a_lost_seal(void **state UNUSED)
{
	static const size_t sizes[] = { 100000, 150000, 200000, 333333 };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct trace_writer *writer = create(compressed);
		struct buf all = test_buf(), file;

		append_records(writer, 1, 7, sizes[i], &all);
		trace_writer_free(writer);
		load(compressed, &file);
		assert_int_equal(check_truncated(buf_span(&file), file.len - 3,
						 &all),
				 all.len);
		buf_release(&file);
		buf_release(&all);
		unlink(compressed);
	}
}

static void test_trace__reads_plain_lines_up_to_the_cut(void **state UNUSED)
{
	struct buf text = test_buf();
	struct error err;

	assert_true(file_write(plain, SPAN("a\n\nb\nc"), &err));
	assert_int_equal(read_lines(plain, &text), TRACE_TRUNCATED);
	check_text(buf_span(&text), "a\n\nb\n");
	buf_clear(&text);
	assert_true(file_write(plain, SPAN(""), &err));
	assert_int_equal(read_lines(plain, &text), TRACE_END);
	assert_int_equal(text.len, 0);
	buf_release(&text);
}

static void test_trace__damage_ends_the_reading(void **state UNUSED)
{
	struct trace_writer *writer = create(compressed);
	struct buf all = test_buf(), file;

	append_records(writer, 1, 3, 200, &all);
	trace_writer_free(writer);
	load(compressed, &file);
	for (size_t i = 4; i < file.len; i++) {
		struct buf text = test_buf();
		struct error err;

		file.data[i] ^= 0x55;
		assert_true(file_write(torn, buf_span(&file), &err));
		file.data[i] ^= 0x55;
		assert_int_not_equal(read_lines(torn, &text), TRACE_LINE);
		buf_release(&text);
	}
	buf_release(&file);
	buf_release(&all);
}

/* --- Lines that cannot be had whole. ------------------------------------ */

/* The beginning of one, of which some is likely to be compressed already. */
static void drop_line(struct trace_writer *writer, unsigned i, size_t size)
{
	struct buf line = test_buf();
	struct error err;

	make_record(&line, i, size);
	for (size_t at = 0; at < line.len; at += 1000)
		assert_true(trace_add(
			writer,
			span_from(line.data + at,
				  line.len - at < 1000 ? line.len - at : 1000),
			&err));
	trace_drop_line(writer);
	buf_release(&line);
}

static void check_dropped(const char *path, size_t size)
{
	struct trace_writer *writer = create(path);
	struct buf all = test_buf();

	trace_drop_line(writer);
	for (unsigned i = 1; i <= 4; i++) {
		drop_line(writer, i, size);
		check_lines(path, &all, TRACE_END);
		if (i % 2)
			drop_line(writer, i, size / 2);
		/* It is like the dropped one: nothing may refer to that. */
		append_records(writer, i, i, size, &all);
		append_records(writer, i, i, 300, &all);
		check_lines(path, &all, TRACE_END);
	}
	drop_line(writer, 5, size);
	trace_writer_free(writer);
	check_lines(path, &all, TRACE_END);
	writer = create(path);
	check_file(path, &all);
	trace_writer_free(writer);
	buf_release(&all);
	unlink(path);
}

static void test_trace__a_dropped_line_leaves_nothing(void **state UNUSED)
{
	check_dropped(compressed, 3000);
	check_dropped(compressed, 700000);
	check_dropped(plain, 3000);
}

/* --- A second proxy on the same file. ----------------------------------- */

static void check_reopened(const char *path)
{
	struct trace_writer *writer = create(path);
	struct buf all = test_buf();

	append_records(writer, 1, 3, 400, &all);
	trace_writer_free(writer);
	writer = create(path);
	assert_int_equal(trace_last_turn(writer), 3);
	check_file(path, &all);
	append_records(writer, 4, 5, 400, &all);
	check_file(path, &all);
	trace_writer_free(writer);
	check_lines(path, &all, TRACE_END);
	buf_release(&all);
}

static void test_trace__goes_on_after_what_is_there(void **state UNUSED)
{
	check_reopened(compressed);
	check_reopened(plain);
}

static void test_trace__reopened_before_any_record_is_whole(void **state UNUSED)
{
	struct buf none = test_buf();

	for (int i = 0; i < 3; i++) {
		trace_writer_free(create(compressed));
		check_file(compressed, &none);
	}
	check_reopened(compressed);
	buf_release(&none);
}

/* Turns end in another order than they began, and a crash takes some away. */
static void test_trace__numbering_goes_on_after_the_highest(void **state UNUSED)
{
	struct trace_writer *writer = create(compressed);
	struct buf all = test_buf();

	append_records(writer, 5, 5, 10, &all);
	append_records(writer, 2, 2, 10, &all);
	trace_writer_free(writer);
	writer = create(compressed);
	assert_int_equal(trace_last_turn(writer), 5);
	trace_writer_free(writer);
	buf_release(&all);
}

static void test_trace__drops_only_the_torn_record(void **state UNUSED)
{
	struct trace_writer *writer = create(compressed);
	struct buf all = test_buf(), more = test_buf();

	append_records(writer, 1, 3, 400, &all);
	append_records(writer, 4, 4, 400, &more);
	trace_writer_free(writer);
	assert_int_equal(truncate(compressed, size_of(compressed) - 30), 0);
	writer = create(compressed);
	assert_int_equal(trace_last_turn(writer), 3);
	append_records(writer, 5, 5, 400, &all);
	trace_writer_free(writer);
	check_file(compressed, &all);
	buf_release(&all);
	buf_release(&more);
}

/* Neither changed nor opened; nothing is left beside it. */
static void check_foreign(const char *path, struct span content)
{
	char *beside = xasprintf("%s.new", path);
	struct error err = ERROR_INIT;

	assert_true(file_write(path, content, &err));
	assert_null(trace_create(path, &err));
	check_error(&err, ERROR_REFUSED, path);
	check_plain(path, content);
	assert_int_equal(access(beside, F_OK), -1);
	free(beside);
}

static void test_trace__a_foreign_file_is_refused(void **state UNUSED)
{
	check_foreign(compressed, SPAN("precious"));
	check_foreign(compressed, SPAN("precious\n"));
	check_foreign(compressed, SPAN("{\"schema\":\"octap.turn/2\"}\n"));
	check_foreign(compressed, SPAN("\x28\xB5\x2F\xFD garbage"));
	check_foreign(plain, SPAN("\n"));
	check_foreign(plain, SPAN("{\"turn\":1}\n"));
	check_foreign(plain, SPAN("{\"schema\":\"" TURN_SCHEMA "\"}\nmine\n"));
}

static void test_trace__a_file_in_use_is_refused(void **state UNUSED)
{
	struct trace_writer *writer = create(compressed);
	struct error err = ERROR_INIT;
	struct buf all = test_buf();

	assert_null(trace_create(compressed, &err));
	check_error(&err, ERROR_REFUSED, "in use by another proxy");
	append_records(writer, 1, 1, 100, &all);
	assert_null(trace_create(compressed, &err));
	check_file(compressed, &all);
	trace_writer_free(writer);
	writer = create(compressed);
	assert_int_equal(trace_last_turn(writer), 1);
	assert_null(trace_create(compressed, &err));
	trace_writer_free(writer);
	buf_release(&all);
}

static void check_unusable(const char *path, const char *why)
{
	struct error err = ERROR_INIT;

	assert_null(trace_create(path, &err));
	assert_int_not_equal(err.kind, ERROR_NONE);
	check_error(&err, err.kind, why);
	check_error(&err, err.kind, path);
}

static void test_trace__what_is_no_file_is_refused(void **state UNUSED)
{
	check_unusable(folder.path, "directory");
	check_unusable("/dev/null", "not a regular file");
	check_unusable("/nonexistent/trace", "No such file");
}

static void test_trace__opening_what_is_not_there_says_so(void **state UNUSED)
{
	struct error err = ERROR_INIT;

	assert_null(trace_open(compressed, &err));
	check_error(&err, ERROR_SYSTEM, compressed);
}

static void test_trace__a_frame_under_a_plain_name_becomes_lines(
	void **state UNUSED)
{
	struct trace_writer *writer = create(compressed);
	struct buf all = test_buf();

	append_records(writer, 1, 2, 100, &all);
	trace_writer_free(writer);
	assert_int_equal(rename(compressed, plain), 0);
	trace_writer_free(create(plain));
	check_file(plain, &all);
	assert_int_equal(rename(plain, compressed), 0);
	trace_writer_free(create(compressed));
	check_file(compressed, &all);
	buf_release(&all);
}

/* --- A full disk. ------------------------------------------------------- */

/* No file may grow beyond `size`; RLIM_INFINITY: all may again. */
static void limit_files(rlim_t size)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = size;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A record that the disk has no room for, `room` bytes of it at most. */
static void check_full_disk(const char *path, unsigned before, rlim_t room)
{
	struct buf all = test_buf(), later = test_buf(), line = test_buf();
	struct trace_writer *writer = create(path);
	struct error err = ERROR_INIT;

	append_records(writer, 1, before, 400, &all);
	put(&later, buf_span(&all));
	limit_files((rlim_t)size_of(path) + room);
	for (unsigned i = before + 1; i <= before + 3; i++) {
		make_record(&line, i, 400);
		assert_false(trace_append(writer, buf_span(&line), &err));
		check_error(&err, ERROR_SYSTEM, path);
		check_error(&err, ERROR_SYSTEM, strerror(EFBIG));
		put(&later, buf_span(&line));
		put(&later, SPAN("\n"));
		check_file(path, &all);
	}
	assert_false(trace_flush(writer, &err));
	limit_files(RLIM_INFINITY);
	assert_true(trace_flush(writer, &err));
	check_file(path, &later);
	assert_true(trace_flush(writer, &err));
	append_records(writer, 90, 91, 400, &later);
	trace_writer_free(writer);
	check_file(path, &later);
	unlink(path);
	buf_release(&all);
	buf_release(&later);
	buf_release(&line);
}

static void test_trace__what_the_disk_has_no_room_for_is_kept(
	void **state UNUSED)
{
	signal(SIGXFSZ, SIG_IGN);
	for (rlim_t room = 0; room < 40; room += 3) {
		check_full_disk(compressed, 0, room);
		check_full_disk(compressed, 4, room);
		check_full_disk(plain, 0, room);
		check_full_disk(plain, 4, room);
	}
}

static void test_trace__a_dropped_line_takes_no_kept_one_along(
	void **state UNUSED)
{
	struct buf all = test_buf(), line = test_buf();
	struct trace_writer *writer = create(compressed);
	struct error err;

	signal(SIGXFSZ, SIG_IGN);
	limit_files((rlim_t)size_of(compressed));
	for (unsigned i = 1; i <= 3; i++) {
		drop_line(writer, i, 400000);
		make_record(&line, i, 400);
		assert_false(trace_append(writer, buf_span(&line), &err));
		assert_true(trace_kept(writer));
		put(&all, buf_span(&line));
		put(&all, SPAN("\n"));
	}
	drop_line(writer, 4, 400000);
	limit_files(RLIM_INFINITY);
	assert_true(trace_flush(writer, &err));
	check_lines(compressed, &all, TRACE_END);
	append_records(writer, 5, 5, 400, &all);
	trace_writer_free(writer);
	check_lines(compressed, &all, TRACE_END);
	buf_release(&all);
	buf_release(&line);
}

static void test_trace__kept_records_come_before_the_next(void **state UNUSED)
{
	struct buf all = test_buf(), line = test_buf();
	struct trace_writer *writer = create(compressed);
	struct error err;

	signal(SIGXFSZ, SIG_IGN);
	limit_files((rlim_t)size_of(compressed));
	make_record(&line, 1, 400);
	assert_false(trace_append(writer, buf_span(&line), &err));
	limit_files(RLIM_INFINITY);
	put(&all, buf_span(&line));
	put(&all, SPAN("\n"));
	append_records(writer, 2, 2, 400, &all);
	trace_writer_free(writer);
	check_file(compressed, &all);
	buf_release(&all);
	buf_release(&line);
}

static void check_removed(const char *path, unsigned before)
{
	struct buf all = test_buf();
	struct trace_writer *writer = create(path);
	struct error err;

	append_records(writer, 1, before, 4000, &all);
	assert_int_equal(unlink(path), 0);
	append_records(writer, before + 1, before + 2, 4000, &all);
	check_file(path, &all);
	assert_int_equal(unlink(path), 0);
	assert_true(trace_flush(writer, &err));
	check_file(path, &all);
	assert_null(trace_create(path, &err));
	check_error(&err, ERROR_REFUSED, "in use");
	trace_writer_free(writer);
	unlink(path);
	buf_release(&all);
}

static void test_trace__a_removed_file_comes_back(void **state UNUSED)
{
	for (unsigned before = 0; before < 3; before++) {
		check_removed(compressed, before);
		check_removed(plain, before);
	}
}

static void test_trace__what_has_its_name_now_is_left_alone(void **state UNUSED)
{
	struct buf all = test_buf(), notes = test_buf(), line = test_buf();
	struct trace_writer *writer = create(plain);
	struct error err;

	append_records(writer, 1, 1, 400, &all);
	unlink(plain);
	put(&notes, SPAN("notes\n"));
	assert_true(file_write_atomic(plain, buf_span(&notes), &err));
	make_record(&line, 2, 400);
	assert_false(trace_append(writer, buf_span(&line), &err));
	check_error(&err, ERROR_SYSTEM, "was removed");
	check_file(plain, &notes);
	unlink(plain);
	put(&all, buf_span(&line));
	put(&all, SPAN("\n"));
	append_records(writer, 3, 3, 400, &all);
	check_file(plain, &all);
	trace_writer_free(writer);
	buf_release(&all);
	buf_release(&notes);
	buf_release(&line);
}

static void test_trace__nothing_is_written_through_a_link(void **state UNUSED)
{
	struct buf all = test_buf(), notes = test_buf();
	char *victim = folder_file(&folder, "victim");
	char *temporary = folder_file(&folder, "trace.jsonl.zst.new");
	struct trace_writer *writer = create(compressed);
	struct stat status;
	struct error err;

	append_records(writer, 1, 2, 400, &all);
	trace_writer_free(writer);
	put(&notes, SPAN("notes\n"));
	assert_true(file_write(victim, buf_span(&notes), &err));
	assert_int_equal(symlink(victim, temporary), 0);
	writer = create(compressed);
	append_records(writer, 3, 3, 400, &all);
	trace_writer_free(writer);
	check_file(compressed, &all);
	check_plain(victim, buf_span(&notes));
	assert_int_equal(lstat(compressed, &status), 0);
	assert_true(S_ISREG(status.st_mode));
	assert_int_equal(lstat(temporary, &status), -1);
	free(victim);
	free(temporary);
	buf_release(&all);
	buf_release(&notes);
}

static void test_trace__free_of_nothing(void **state UNUSED)
{
	trace_writer_free(NULL);
	trace_reader_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_trace__every_prefix_of_appends_is_whole),
		TEST(test_trace__file_is_the_owners_alone),
		TEST(test_trace__repeated_history_costs_little),
		TEST(test_trace__reads_up_to_where_it_was_cut),
		TEST(test_trace__large_records_survive_a_lost_seal),
		TEST(test_trace__reads_plain_lines_up_to_the_cut),
		TEST(test_trace__damage_ends_the_reading),
		TEST(test_trace__a_dropped_line_leaves_nothing),
		TEST(test_trace__a_dropped_line_takes_no_kept_one_along),
		TEST(test_trace__goes_on_after_what_is_there),
		TEST(test_trace__reopened_before_any_record_is_whole),
		TEST(test_trace__numbering_goes_on_after_the_highest),
		TEST(test_trace__drops_only_the_torn_record),
		TEST(test_trace__a_foreign_file_is_refused),
		TEST(test_trace__a_file_in_use_is_refused),
		TEST(test_trace__what_is_no_file_is_refused),
		TEST(test_trace__opening_what_is_not_there_says_so),
		TEST(test_trace__a_frame_under_a_plain_name_becomes_lines),
		TEST(test_trace__what_the_disk_has_no_room_for_is_kept),
		TEST(test_trace__kept_records_come_before_the_next),
		TEST(test_trace__a_removed_file_comes_back),
		TEST(test_trace__what_has_its_name_now_is_left_alone),
		TEST(test_trace__nothing_is_written_through_a_link),
		TEST(test_trace__free_of_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
