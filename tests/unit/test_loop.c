/* The event loop: its signals, while it runs and afterwards. */
#include "shared/loop.h"

#include <signal.h>

#include "tests/unit/vectors.h"

struct seen {
	struct loop *loop;
	int number;
};

static void on_signal(int number, void *arg)
{
	struct seen *seen = arg;

	seen->number = number;
	loop_stop(seen->loop);
}

static void test_loop__a_signal_is_told_in_the_loop(void **state UNUSED)
{
	struct seen seen = { 0 };
	struct error err;

	seen.loop = loop_new(&err);
	assert_true(loop_on_signal(seen.loop, SIGUSR1, on_signal, &seen, &err));
	raise(SIGUSR1);
	assert_int_equal(seen.number, 0);
	loop_run(seen.loop);
	assert_int_equal(seen.number, SIGUSR1);
	loop_free(seen.loop);
}

/* What came of the program is settled by then; this one would end it. */
static void test_loop__a_signal_after_its_end_is_ignored(void **state UNUSED)
{
	struct seen seen = { 0 };
	struct error err;

	seen.loop = loop_new(&err);
	assert_true(loop_on_signal(seen.loop, SIGUSR2, on_signal, &seen, &err));
	loop_free(seen.loop);
	raise(SIGUSR2);
	assert_int_equal(seen.number, 0);
}

static void test_loop__what_is_deferred_is_freed_with_it(void **state UNUSED)
{
	struct error err;
	struct loop *loop = loop_new(&err);

	loop_defer_free(loop, free, calloc(1, 1));
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loop__a_signal_is_told_in_the_loop),
		cmocka_unit_test(test_loop__a_signal_after_its_end_is_ignored),
		cmocka_unit_test(test_loop__what_is_deferred_is_freed_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
