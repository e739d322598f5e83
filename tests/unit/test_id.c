/* Ids: sortable, not guessable. */
#include "shared/id.h"

#include <string.h>
#include <unistd.h>

#include "shared/clock.h"
#include "tests/unit/vectors.h"

#define ALPHABET "0123456789abcdefghjkmnpqrstvwxyz"

static void make_id(char id[ID_SIZE])
{
	struct error err;

	memset(id, 'x', ID_SIZE);
	assert_true(id_new(id, &err));
}

static void test_id__is_36_characters_of_crockford(void **state UNUSED)
{
	char id[ID_SIZE];

	for (int i = 0; i < 1000; i++) {
		make_id(id);
		assert_int_equal(strlen(id), 36);
		assert_int_equal(strspn(id, ALPHABET), 36);
	}
}

/* The first 48 of an id's bits; the 50th and 49th are random. */
static uint64_t time_of(const char *id)
{
	uint64_t bits = 0;

	for (int i = 0; i < 10; i++)
		bits = bits << 5 |
		       (uint64_t)(strchr(ALPHABET, id[i]) - ALPHABET);
	return bits >> 2;
}

static void test_id__begins_with_the_time(void **state UNUSED)
{
	uint64_t now = clock_wall_us() / 1000;
	char id[ID_SIZE];

	make_id(id);
	assert_in_range(time_of(id), now, now + 5000);
}

static void test_id__sorts_by_time(void **state UNUSED)
{
	char earlier[ID_SIZE], later[ID_SIZE];

	for (int i = 0; i < 20; i++) {
		make_id(earlier);
		usleep(2000);
		make_id(later);
		assert_true(strcmp(earlier, later) < 0);
	}
}

static void test_id__no_two_are_alike_even_but_for_the_time(void **state UNUSED)
{
	static char ids[2000][ID_SIZE];

	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		make_id(ids[i]);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(ids[i] + 10, ids[k] + 10);
	}
}

static void test_id__random_bytes_fill_all(void **state UNUSED)
{
	unsigned char bytes[1000] = { 0 };
	unsigned seen[256] = { 0 }, distinct = 0;
	struct error err;

	assert_true(random_bytes(bytes, 999, &err));
	for (size_t i = 0; i < 999; i++)
		distinct += !seen[bytes[i]]++;
	assert_true(distinct > 200);
	assert_int_equal(bytes[999], 0);
	assert_true(random_bytes(bytes, 0, &err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_id__is_36_characters_of_crockford),
		cmocka_unit_test(test_id__begins_with_the_time),
		cmocka_unit_test(test_id__sorts_by_time),
		cmocka_unit_test(
			test_id__no_two_are_alike_even_but_for_the_time),
		cmocka_unit_test(test_id__random_bytes_fill_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
