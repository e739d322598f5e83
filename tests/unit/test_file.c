/* Whole files. */
#include "shared/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/limits.h"
#include "shared/mem.h"
#include "tests/unit/vectors.h"

static struct folder folder;
static char *path;

static int set_up(void **state UNUSED)
{
	temp_folder_make(&folder);
	path = folder_file(&folder, "file");
	return 0;
}

static int tear_down(void **state UNUSED)
{
	temp_folder_remove(&folder);
	free(path);
	return 0;
}

typedef bool write_fn(const char *path, struct span bytes, struct error *err);

static void check_written(write_fn *fn, struct span bytes)
{
	struct error err = ERROR_INIT;
	struct buf back;
	struct stat status;

	if (!fn(path, bytes, &err))
		fail_msg("%s", err.text);
	load(path, &back);
	check_bytes("file", buf_span(&back), bytes);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0644);
	buf_release(&back);
}

static void check_writer(write_fn *fn)
{
	struct buf large = test_buf();

	for (size_t i = 0; i < 100000; i++)
		putf(&large, "%zu", i);
	check_written(fn, SPAN("a\0b\n"));
	check_written(fn, buf_span(&large));
	check_written(fn, SPAN("short"));
	check_written(fn, SPAN(""));
	buf_release(&large);
}

static void test_file__written_bytes_are_read(void **state UNUSED)
{
	check_writer(file_write);
}

static void test_file__atomically_written_bytes_are_read(void **state UNUSED)
{
	check_writer(file_write_atomic);
}

static void check_failure(bool ok, const struct error *err, const char *name,
			  const char *why)
{
	assert_false(ok);
	check_error(err, ERROR_SYSTEM, name);
	check_error(err, ERROR_SYSTEM, why);
}

static void test_file__failures_name_the_file(void **state UNUSED)
{
	struct buf buf = test_buf();
	struct error err;

	check_failure(file_read("/nonexistent/x", &buf, &err), &err,
		      "/nonexistent/x", "No such file");
	check_failure(file_read(folder.path, &buf, &err), &err, folder.path,
		      "directory");
	check_failure(file_write("/nonexistent/x", SPAN("a"), &err), &err,
		      "/nonexistent/x", "No such file");
	check_failure(file_write("/dev/full", SPAN("a"), &err), &err,
		      "/dev/full", "No space");
	check_failure(file_write_atomic("/nonexistent/x", SPAN("a"), &err),
		      &err, "/nonexistent/x", "No such file");
	buf_release(&buf);
}

/* Renaming over a folder fails: nothing may be left beside it. */
static void test_file__a_failed_atomic_write_leaves_nothing(void **state UNUSED)
{
	struct error err;
	char *inside = folder_file(&folder, "dir/inside");
	char *dir = folder_file(&folder, "dir");

	assert_true(file_make_dirs(inside, &err));
	check_failure(file_write_atomic(dir, SPAN("a"), &err), &err, dir,
		      "directory");
	assert_int_equal(rmdir(inside), 0);
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(rmdir(folder.path), 0);
	assert_int_equal(mkdir(folder.path, 0700), 0);
	free(inside);
	free(dir);
}

static void test_file__reading_obeys_the_limit(void **state UNUSED)
{
	struct error err = ERROR_INIT;
	struct buf buf;

	assert_true(file_write(path, SPAN("12345"), &err));
	buf_init(&buf, 5);
	assert_false(file_read(path, &buf, &err));
	check_error(&err, ERROR_TOO_LARGE, path);
	buf_release(&buf);
	buf_init(&buf, 6);
	assert_true(file_read(path, &buf, &err));
	check_text(buf_span(&buf), "12345");
	buf_release(&buf);
}

static void test_file__a_pipe_is_read_to_its_end(void **state UNUSED)
{
	struct buf buf = test_buf();
	struct error err;
	char *name;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_true(file_write_fd(ends[1], SPAN("from a pipe")));
	close(ends[1]);
	name = xasprintf("/dev/fd/%d", ends[0]);
	assert_true(file_read(name, &buf, &err));
	check_text(buf_span(&buf), "from a pipe");
	close(ends[0]);
	assert_false(file_read_fd(ends[0], &buf, &err));
	assert_false(file_write_fd(ends[1], SPAN("a")));
	free(name);
	buf_release(&buf);
}

static void check_dirs(const char *name)
{
	char *full = folder_file(&folder, name);
	struct error err = ERROR_INIT;
	struct stat status;

	if (!file_make_dirs(full, &err))
		fail_msg("%s", err.text);
	assert_int_equal(stat(full, &status), 0);
	assert_true(S_ISDIR(status.st_mode));
	free(full);
}

static void test_file__folders_are_made_with_their_parents(void **state UNUSED)
{
	struct error err;

	check_dirs("a");
	check_dirs("a/b/c");
	check_dirs("a/b/c");
	check_dirs("x//y/");
	check_dirs("");
	assert_true(file_make_dirs("/", &err));
}

static void test_file__a_file_in_the_way_of_a_folder_is_told(
	void **state UNUSED)
{
	char *below = folder_file(&folder, "file/below");
	struct error err = ERROR_INIT;

	assert_true(file_write(path, SPAN(""), &err));
	assert_false(file_make_dirs(below, &err));
	check_error(&err, ERROR_SYSTEM, path);
	assert_false(file_make_dirs(path, &err));
	check_error(&err, ERROR_SYSTEM, path);
	free(below);
}

/* expected NULL: refused, because of `why`. */
static void check_secret(struct span content, const char *expected,
			 const char *why)
{
	struct error err = ERROR_INIT;
	char *secret = NULL;

	assert_true(file_write(path, content, &err));
	if (file_read_secret(path, &secret, &err) != (expected != NULL))
		fail_msg("%s", err.text);
	if (expected) {
		assert_string_equal(secret, expected);
	} else {
		assert_null(secret);
		check_error(&err, ERROR_USAGE, path);
		check_error(&err, ERROR_USAGE, why);
		assert_null(strstr(err.text, "sk-"));
	}
	free(secret);
}

static void test_file__a_secret_is_one_word(void **state UNUSED)
{
	check_secret(SPAN("sk-1\n"), "sk-1", "");
	check_secret(SPAN(" \t\r\nsk-\xC3\xA9!\r\n\n"), "sk-\xC3\xA9!", "");
	check_secret(SPAN(""), NULL, "empty");
	check_secret(SPAN(" \n"), NULL, "empty");
	check_secret(SPAN("sk- 1"), NULL, "white space or a control");
	check_secret(SPAN("sk-1\nsk-2"), NULL, "white space or a control");
	check_secret(SPAN("sk-\0"), NULL, "white space or a control");
	check_secret(SPAN("sk-\x7F"), NULL, "white space or a control");
}

static void test_file__a_secret_has_a_limit(void **state UNUSED)
{
	struct error err = ERROR_INIT;
	char *text = xcalloc(LIMIT_KEY_FILE, 1);
	char *secret = NULL;

	memset(text, 'k', LIMIT_KEY_FILE);
	assert_true(file_write(path, span_from(text, LIMIT_KEY_FILE), &err));
	assert_false(file_read_secret(path, &secret, &err));
	check_error(&err, ERROR_TOO_LARGE, path);
	assert_null(secret);
	assert_false(file_read_secret("/nonexistent/key", &secret, &err));
	check_error(&err, ERROR_SYSTEM, "/nonexistent/key");
	free(text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_file__written_bytes_are_read),
		TEST(test_file__atomically_written_bytes_are_read),
		TEST(test_file__failures_name_the_file),
		TEST(test_file__a_failed_atomic_write_leaves_nothing),
		TEST(test_file__reading_obeys_the_limit),
		TEST(test_file__a_pipe_is_read_to_its_end),
		TEST(test_file__folders_are_made_with_their_parents),
		TEST(test_file__a_file_in_the_way_of_a_folder_is_told),
		TEST(test_file__a_secret_is_one_word),
		TEST(test_file__a_secret_has_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
