#include "proxy/spill.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "shared/limits.h"
#include "shared/mem.h"
#include "tests/unit/vectors.h"

#define EXTENT LIMIT_TURN_MEMORY
#define LIMIT  (16u * EXTENT)

static struct spill *open_here(void)
{
	struct spill *spill = spill_open("/tmp/octap-test-spill.jsonl");

	assert_non_null(spill);
	return spill;
}

/* `len` bytes that differ by their place and by `seed`. */
static void add(struct spool *spool, size_t len, unsigned seed)
{
	char bytes[1000];
	struct error err;

	for (size_t at = 0; at < len; at += sizeof(bytes)) {
		size_t part =
			len - at < sizeof(bytes) ? len - at : sizeof(bytes);

		for (size_t i = 0; i < part; i++)
			bytes[i] =
				(char)((at + i) * 31 + (at + i) / 997 + seed);
		assert_true(spool_add(spool, span_from(bytes, part), &err));
	}
}

struct checked {
	size_t at;
	unsigned seed;
};

static bool check_piece(struct span piece, void *arg, struct error *err UNUSED)
{
	struct checked *c = arg;

	for (size_t i = 0; i < piece.len; i++, c->at++)
		if (piece.data[i] != (char)(c->at * 31 + c->at / 997 + c->seed))
			fail_msg("byte %zu", c->at);
	return true;
}

static void check(const struct spool *spool, size_t len, unsigned seed)
{
	struct checked c = { .seed = seed };
	struct error err;

	assert_true(spool_each(spool, check_piece, &c, &err));
	assert_int_equal(c.at, len);
}

static void test_spill__small_stays_in_memory(void **state UNUSED)
{
	struct spill *spill = open_here();
	struct spool spool;

	spool_init(&spool, spill, LIMIT);
	assert_true(spool_is_empty(&spool));
	add(&spool, EXTENT - 1, 1);
	assert_false(spool_is_empty(&spool));
	assert_true(spool_in_memory(&spool));
	assert_int_equal(spill_size(spill), 0);
	check(&spool, EXTENT - 1, 1);
	spool_release(&spool);
	spill_free(spill);
}

static void test_spill__several_keep_apart(void **state UNUSED)
{
	static const size_t lengths[] = { EXTENT, 3 * EXTENT + 5, 7,
					  2 * EXTENT - 1 };
	struct spool spools[ARRAY_LEN(lengths)];
	struct spill *spill = open_here();

	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < ARRAY_LEN(lengths); i++) {
			spool_init(&spools[i], spill, LIMIT);
			add(&spools[i], lengths[i], i + round);
		}
		assert_int_equal(spill_size(spill), 5 * EXTENT);
		/* What one gives back, another takes. */
		spool_release(&spools[0]);
		add(&spools[2], 0, 2 + round);
		spool_init(&spools[0], spill, LIMIT);
		add(&spools[0], lengths[0], round);
		assert_int_equal(spill_size(spill), 5 * EXTENT);
		for (unsigned i = 0; i < ARRAY_LEN(lengths); i++)
			check(&spools[i], lengths[i], i + round);
		for (unsigned i = 0; i < ARRAY_LEN(lengths); i++)
			spool_release(&spools[i]);
		assert_int_equal(spill_size(spill), 0);
	}
	spill_free(spill);
}

static void test_spill__limit(void **state UNUSED)
{
	struct spill *spill = open_here();
	struct spool spool;
	struct error err;

	spool_init(&spool, spill, 2 * EXTENT);
	add(&spool, 2 * EXTENT - 1, 0);
	assert_false(spool_in_memory(&spool));
	assert_false(spool_add(&spool, SPAN("x"), &err));
	assert_int_equal(err.kind, ERROR_TOO_LARGE);
	check(&spool, 2 * EXTENT - 1, 0);
	spool_release(&spool);
	spill_free(spill);
}

static void test_spill__none(void **state UNUSED)
{
	struct spool spool;

	assert_null(spill_open("/nonexistent/trace"));
	spool_init(&spool, NULL, LIMIT);
	add(&spool, 3 * EXTENT, 9);
	assert_true(spool_in_memory(&spool));
	check(&spool, 3 * EXTENT, 9);
	spool_release(&spool);
}

static void limit_files(rlim_t size)
{
	struct rlimit limits;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limits), 0);
	limits.rlim_cur = size < limits.rlim_max ? size : limits.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limits), 0);
}

/* From the middle of an extent on, which then has only a part in the file. */
static void test_spill__what_cannot_be_written_stays_in_memory(
	void **state UNUSED)
{
	struct spill *spill = open_here();
	struct spool spools[3];

	signal(SIGXFSZ, SIG_IGN);
	limit_files(3 * EXTENT + EXTENT / 2);
	for (unsigned i = 0; i < ARRAY_LEN(spools); i++)
		spool_init(&spools[i], spill, LIMIT);
	for (unsigned i = 0; i < ARRAY_LEN(spools); i++)
		add(&spools[i], (2 * i + 1) * EXTENT + 9, i);
	for (unsigned i = 0; i < ARRAY_LEN(spools); i++)
		check(&spools[i], (2 * i + 1) * EXTENT + 9, i);
	limit_files(RLIM_INFINITY);
	for (unsigned i = 0; i < ARRAY_LEN(spools); i++)
		spool_release(&spools[i]);

	/* It is not tried again. */
	spool_init(&spools[0], spill, LIMIT);
	add(&spools[0], 3 * EXTENT, 7);
	assert_true(spool_in_memory(&spools[0]));
	check(&spools[0], 3 * EXTENT, 7);
	spool_release(&spools[0]);
	spill_free(spill);
}

/* So much is asked for each new thread. */
static void ask_for_stack(size_t size)
{
	pthread_attr_t attr;

	assert_int_equal(pthread_attr_init(&attr), 0);
	assert_int_equal(pthread_attr_setstacksize(&attr, size), 0);
	assert_int_equal(pthread_setattr_default_np(&attr), 0);
	pthread_attr_destroy(&attr);
}

static void test_spill__without_a_thread_all_stays_in_memory(
	void **state UNUSED)
{
	struct spill *spill = open_here();
	struct buf log = test_buf();
	struct capture capture;
	struct spool spool;
	pthread_attr_t attr;
	size_t size;

	assert_int_equal(pthread_getattr_default_np(&attr), 0);
	assert_int_equal(pthread_attr_getstacksize(&attr, &size), 0);
	pthread_attr_destroy(&attr);
	capture_begin(&capture, STDERR_FILENO);
	ask_for_stack((size_t)1 << 60);
	spool_init(&spool, spill, LIMIT);
	add(&spool, 2 * EXTENT, 3);
	ask_for_stack(size);
	capture_end(&capture, &log);
	assert_true(spool_in_memory(&spool));
	check(&spool, 2 * EXTENT, 3);
	/* Said once. */
	assert_true(span_contains(buf_span(&log), "no thread to write"));
	assert_int_equal(span_line_length(buf_span(&log)), log.len - 1);
	spool_release(&spool);
	spill_free(spill);
	buf_release(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spill__small_stays_in_memory),
		cmocka_unit_test(test_spill__several_keep_apart),
		cmocka_unit_test(test_spill__limit),
		cmocka_unit_test(test_spill__none),
		cmocka_unit_test(
			test_spill__what_cannot_be_written_stays_in_memory),
		cmocka_unit_test(
			test_spill__without_a_thread_all_stays_in_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
