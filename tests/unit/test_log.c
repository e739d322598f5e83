/* Lines to people, without the secrets. */
#include "shared/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/vectors.h"

#define SECRET "sk-octap-1234567890"

static int reset(void **state UNUSED)
{
	log_mask_clear();
	log_set_level(LOG_WARN);
	return 0;
}

/* What a call leaves on stderr, without the time before it. */
static void check_line(const char *text, const char *expected)
{
	struct buf line = test_buf();
	struct capture capture;

	capture_begin(&capture, STDERR_FILENO);
	log_error("test", "%s", text);
	capture_end(&capture, &line);
	assert_true(line.len > 21);
	check_text(span_after(buf_span(&line), 21), expected);
	buf_release(&line);
}

static void log_all_levels(struct buf *lines)
{
	struct capture capture;

	capture_begin(&capture, STDERR_FILENO);
	log_error("scope", "n%d", 1);
	log_warn("scope", "n%d", 2);
	log_info("scope", "n%d", 3);
	log_debug("scope", "n%d", 4);
	capture_end(&capture, lines);
}

static void check_levels(int level, size_t count)
{
	static const char *const ends[] = {
		" error scope: n1\n",
		" warn scope: n2\n",
		" info scope: n3\n",
		" debug scope: n4\n",
	};
	struct buf lines = test_buf();

	if (level >= 0)
		log_set_level((enum log_level)level);
	log_all_levels(&lines);
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		assert_int_equal(span_contains(buf_span(&lines), ends[i]),
				 i < count);
	buf_release(&lines);
}

static void test_log__prints_the_level_and_the_more_urgent(void **state UNUSED)
{
	check_levels(-1, 2);
	check_levels(LOG_ERROR, 1);
	check_levels(LOG_WARN, 2);
	check_levels(LOG_INFO, 3);
	check_levels(LOG_DEBUG, 4);
}

static void test_log__line_begins_with_the_time(void **state UNUSED)
{
	struct buf line = test_buf();
	struct capture capture;

	capture_begin(&capture, STDERR_FILENO);
	log_error("a", "b");
	capture_end(&capture, &line);
	assert_int_equal(line.data[4], '-');
	assert_int_equal(line.data[10], 'T');
	check_text(span_after(buf_span(&line), 19), "Z error a: b\n");
	buf_release(&line);
}

static void test_log__masks_a_secret_wherever_it_is(void **state UNUSED)
{
	log_mask(SECRET);
	check_line(SECRET, "error test: *******************\n");
	check_line("a " SECRET SECRET " b", "error test: a "
					    "*******************"
					    "******************* b\n");
	check_line("sk-octap", "error test: sk-octap\n");
}

static void test_log__masks_every_secret_given(void **state UNUSED)
{
	char secret[32], expected[64];

	for (int i = 0; i < 40; i++) {
		snprintf(secret, sizeof(secret), "secret-number-%02d", i);
		log_mask(secret);
	}
	for (int i = 0; i < 40; i++) {
		snprintf(secret, sizeof(secret), "secret-number-%02d", i);
		snprintf(expected, sizeof(expected), "error test: %.*s\n", 16,
			 "****************");
		check_line(secret, expected);
	}
}

static void test_log__masks_the_longer_of_two(void **state UNUSED)
{
	log_mask("sk-octap-and");
	log_mask("sk-octap-and-more");
	check_line("sk-octap-and-more", "error test: *****************\n");
	check_line("sk-octap-and more", "error test: ************ more\n");
}

static void test_log__leaves_no_part_of_a_secret_at_the_cut(void **state UNUSED)
{
	static char text[8000];
	struct buf line = test_buf();
	struct capture capture;

	log_mask(SECRET);
	for (size_t start = 2020; start < 2060; start++) {
		memset(text, 'x', start);
		snprintf(text + start, sizeof(text) - start, "%s", SECRET);
		capture_begin(&capture, STDERR_FILENO);
		log_error("test", "%s", text);
		capture_end(&capture, &line);
	}
	assert_false(span_contains(buf_span(&line), "sk-"));
	buf_release(&line);
}

static void test_log__too_short_a_secret_is_no_secret(void **state UNUSED)
{
	log_mask("EMPTY");
	log_mask("abcdefghijk");
	log_mask("");
	log_mask(NULL);
	check_line("abcdefghijk EMPTY", "error test: abcdefghijk EMPTY\n");
	log_mask("abcdefghijkl");
	check_line("abcdefghijkl", "error test: ************\n");
}

static void test_log__masked_works_in_place(void **state UNUSED)
{
	char text[] = "key " SECRET "!";

	log_masked(text);
	assert_string_equal(text, "key " SECRET "!");
	log_mask(SECRET);
	log_mask(SECRET);
	log_masked(text);
	assert_string_equal(text, "key *******************!");
}

static void test_log__masks_bytes_behind_a_nul(void **state UNUSED)
{
	char bytes[] = "\0" SECRET SECRET;

	log_mask(SECRET);
	assert_false(log_mask_bytes(bytes, strlen(SECRET)));
	assert_memory_equal(bytes, "\0" SECRET, strlen(SECRET) + 1);
	assert_true(log_mask_bytes(bytes, sizeof(bytes) - 1));
	assert_memory_equal(bytes, "\0**************************************",
			    sizeof(bytes));
}

static void test_log__asterisks_for_a_secret_come_to_an_end(void **state UNUSED)
{
	log_mask("************");
	check_line("**************", "error test: **************\n");
}

static void test_log__clear_forgets(void **state UNUSED)
{
	log_mask(SECRET);
	log_mask_clear();
	check_line(SECRET, "error test: " SECRET "\n");
}

#define LINES 20000

static void *log_lines(void *arg UNUSED)
{
	for (unsigned i = 0; i < LINES; i++)
		log_error("test", "line %u", i);
	return NULL;
}

/* A pipe instead of stderr, with no room in it; from where it is read. */
static int fill_stderr(void)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
	while (write(fds[1], "x", 1) == 1)
		;
	assert_int_equal(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
	close(fds[1]);
	return fds[0];
}

static void test_log__counts_what_two_threads_lose(void **state UNUSED)
{
	static char text[2 << 20];
	int was = dup(STDERR_FILENO), from = fill_stderr();
	pthread_t thread;
	char *said;
	ssize_t len;

	assert_int_equal(pthread_create(&thread, NULL, log_lines, NULL), 0);
	log_lines(NULL);
	pthread_join(thread, NULL);
	while (read(from, text, sizeof(text)) > 0)
		;
	log_error("test", "the last");
	dup2(was, STDERR_FILENO);
	close(was);
	len = read(from, text, sizeof(text) - 1);
	close(from);
	assert_true(len > 0);
	text[len] = '\0';
	said = strstr(text, "warn log: ");
	assert_non_null(said);
	assert_true(span_starts_with(
		span_of(said), "warn log: 40000 lines before this one are"));
	assert_non_null(strstr(said, "the last"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
			test_log__prints_the_level_and_the_more_urgent, reset),
		cmocka_unit_test_teardown(test_log__line_begins_with_the_time,
					  reset),
		cmocka_unit_test_teardown(
			test_log__masks_a_secret_wherever_it_is, reset),
		cmocka_unit_test_teardown(test_log__masks_every_secret_given,
					  reset),
		cmocka_unit_test_teardown(test_log__masks_the_longer_of_two,
					  reset),
		cmocka_unit_test_teardown(
			test_log__leaves_no_part_of_a_secret_at_the_cut, reset),
		cmocka_unit_test_teardown(
			test_log__too_short_a_secret_is_no_secret, reset),
		cmocka_unit_test_teardown(test_log__masked_works_in_place,
					  reset),
		cmocka_unit_test_teardown(test_log__masks_bytes_behind_a_nul,
					  reset),
		cmocka_unit_test_teardown(
			test_log__asterisks_for_a_secret_come_to_an_end, reset),
		cmocka_unit_test_teardown(test_log__clear_forgets, reset),
		cmocka_unit_test_teardown(
			test_log__counts_what_two_threads_lose, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
