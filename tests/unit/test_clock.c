/* Clocks. */
#include "shared/clock.h"

#include <string.h>
#include <time.h>

#include "tests/unit/vectors.h"

static void check_utc(uint64_t seconds, const char *expected)
{
	char text[CLOCK_UTC_SIZE];

	clock_format_utc(seconds * 1000000 + 999999, text);
	assert_string_equal(text, expected);
}

static void test_clock__utc_by_the_calendar(void **state UNUSED)
{
	check_utc(0, "1970-01-01T00:00:00Z");
	check_utc(951782400, "2000-02-29T00:00:00Z");
	check_utc(1790000000, "2026-09-21T14:13:20Z");
	check_utc(4102444799, "2099-12-31T23:59:59Z");
	check_utc(253402300799, "9999-12-31T23:59:59Z");
}

static void test_clock__a_time_beyond_the_text_is_still_a_text(
	void **state UNUSED)
{
	char text[CLOCK_UTC_SIZE];

	memset(text, 'x', sizeof(text));
	clock_format_utc(UINT64_MAX, text);
	assert_non_null(memchr(text, '\0', sizeof(text)));
}

static void test_clock__monotonic_does_not_go_back(void **state UNUSED)
{
	uint64_t last = clock_monotonic_us();

	for (int i = 0; i < 1000; i++) {
		uint64_t now = clock_monotonic_us();

		assert_true(now >= last);
		last = now;
	}
	assert_in_range(clock_monotonic_ms(), last / 1000, last / 1000 + 5000);
}

static void test_clock__wall_is_the_wall_clock(void **state UNUSED)
{
	uint64_t now = (uint64_t)time(NULL);

	assert_in_range(clock_wall_us() / 1000000, now, now + 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clock__utc_by_the_calendar),
		cmocka_unit_test(
			test_clock__a_time_beyond_the_text_is_still_a_text),
		cmocka_unit_test(test_clock__monotonic_does_not_go_back),
		cmocka_unit_test(test_clock__wall_is_the_wall_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
