/* JSON written without a tree. */
#include "shared/json_write.h"

#include <signal.h>
#include <string.h>

#include "shared/json_scan.h"
#include "tests/unit/generate.h"
#include "tests/unit/vectors.h"

typedef void write_fn(struct json_writer *jw);

/* What `fn` writes is this, and JSON. */
static void check_written(write_fn *fn, const char *expected)
{
	struct buf out = test_buf();
	struct json_writer jw;
	struct error err;

	jw_init(&jw, &out);
	fn(&jw);
	assert_true(jw_finish(&jw, &err));
	check_text(buf_span(&out), expected);
	assert_true(json_valid(buf_span(&out)));
	buf_release(&out);
}

static void write_nested(struct json_writer *jw)
{
	jw_object_begin(jw);
	jw_key(jw, "a");
	jw_array_begin(jw);
	jw_u64(jw, 1);
	jw_array_begin(jw);
	jw_array_end(jw);
	jw_object_begin(jw);
	jw_object_end(jw);
	jw_null(jw);
	jw_array_end(jw);
	jw_key(jw, "b");
	jw_object_begin(jw);
	jw_key(jw, "c");
	jw_bool(jw, true);
	jw_key(jw, "d");
	jw_bool(jw, false);
	jw_object_end(jw);
	jw_object_end(jw);
}

static void test_json_write__commas_and_colons(void **state UNUSED)
{
	check_written(write_nested, "{\"a\":[1,[],{},null],"
				    "\"b\":{\"c\":true,\"d\":false}}");
}

static void write_numbers(struct json_writer *jw)
{
	jw_array_begin(jw);
	jw_u64(jw, 0);
	jw_u64(jw, UINT64_MAX);
	jw_i64(jw, INT64_MIN);
	jw_i64(jw, INT64_MAX);
	jw_seconds(jw, 0);
	jw_seconds(jw, 1);
	jw_seconds(jw, 61040);
	jw_seconds(jw, UINT64_MAX);
	jw_array_end(jw);
}

static void test_json_write__numbers_at_their_ends(void **state UNUSED)
{
	check_written(write_numbers,
		      "[0,18446744073709551615,-9223372036854775808,"
		      "9223372036854775807,0.000,0.001,61.040,"
		      "18446744073709551.615]");
}

static void check_string(struct span text, const char *expected)
{
	struct guarded g = guard(text);
	struct buf out = test_buf();
	struct json_writer jw;
	struct error err;

	jw_init(&jw, &out);
	jw_string(&jw, g.text);
	assert_true(jw_finish(&jw, &err));
	check_text(buf_span(&out), expected);
	assert_true(json_valid(buf_span(&out)));
	buf_release(&out);
	guard_free(&g);
}

static void test_json_write__strings_are_escaped(void **state UNUSED)
{
	check_string(SPAN(""), "\"\"");
	check_string(SPAN("a/b \x7F"), "\"a/b \x7F\"");
	check_string(SPAN("\"\\\n\r\t"), "\"\\\"\\\\\\n\\r\\t\"");
	check_string(SPAN("\0\x01\b\f\x1F"),
		     "\"\\u0000\\u0001\\u0008\\u000c\\u001f\"");
	check_string(SPAN("\xC3\xA9\xE2\x80\xA8\xF0\x9F\x98\x80"),
		     "\"\xC3\xA9\xE2\x80\xA8\xF0\x9F\x98\x80\"");
}

#define REPLACED "\xEF\xBF\xBD"

static void test_json_write__what_is_no_utf8_is_replaced(void **state UNUSED)
{
	check_string(SPAN("a\xFF"
			  "b"),
		     "\"a" REPLACED "b\"");
	check_string(SPAN("\xC3"), "\"" REPLACED "\"");
	check_string(SPAN("\xE2\x80"), "\"" REPLACED REPLACED "\"");
	check_string(SPAN("\xED\xA0\x80"),
		     "\"" REPLACED REPLACED REPLACED "\"");
	check_string(SPAN("\xC3\xC3\xA9"), "\"" REPLACED "\xC3\xA9\"");
	check_string(SPAN("\xF0\x9F\x98\""),
		     "\"" REPLACED REPLACED REPLACED "\\\"\"");
}

static void write_texts(struct json_writer *jw)
{
	jw_array_begin(jw);
	jw_cstring(jw, "a");
	jw_cstring(jw, NULL);
	jw_wrapped(jw, "\"", SPAN("in\\n"), "\"");
	jw_wrapped(jw, "[", SPAN(""), "]");
	jw_raw(jw, SPAN("9007199254740993"));
	jw_raw(jw, SPAN(" {\"x\" : 0.30000000000000004} "));
	jw_raw(jw, SPAN_NONE);
	jw_array_end(jw);
}

static void test_json_write__raw_values_are_copied(void **state UNUSED)
{
	check_written(write_texts, "[\"a\",null,\"in\\n\",[],9007199254740993,"
				   " {\"x\" : 0.30000000000000004} ,null]");
}

static void check_one_line(struct span json, struct span expected)
{
	struct guarded g = guard(json);
	struct buf out = test_buf();
	struct json_writer jw;
	struct error err;

	jw_init(&jw, &out);
	jw_raw_on_one_line(&jw, g.text);
	assert_true(jw_finish(&jw, &err));
	check_bytes("line", buf_span(&out), expected);
	buf_release(&out);
	guard_free(&g);
}

static void test_json_write__line_breaks_become_spaces(void **state UNUSED)
{
	check_one_line(SPAN("{\r\n\"a\":\n1}\n"), SPAN("{  \"a\": 1} "));
	check_one_line(SPAN("[\"\\n\"]"), SPAN("[\"\\n\"]"));
	check_one_line(SPAN("\n"), SPAN(" "));
	check_one_line(SPAN(""), SPAN("null"));
}

static void test_json_write__a_line_is_utf8(void **state UNUSED)
{
	check_one_line(SPAN("[\"a\xC3\xA9\xFF\",\n\"\xE2\x80\"]"),
		       SPAN("[\"a\xC3\xA9" REPLACED "\", \"" REPLACED REPLACED
			    "\"]"));
}

static void test_json_write__limit_is_told_at_the_end(void **state UNUSED)
{
	size_t full = strlen("{\"a\":[1,[],{},null],\"b\":{\"c\":true,"
			     "\"d\":false}}");

	for (size_t limit = 1; limit <= full + 1; limit++) {
		struct error err = ERROR_INIT;
		struct json_writer jw;
		struct buf out;

		buf_init(&out, limit);
		jw_init(&jw, &out);
		write_nested(&jw);
		assert_int_equal(jw_finish(&jw, &err), limit > full);
		if (limit <= full)
			check_error(&err, ERROR_TOO_LARGE, "limit");
		buf_release(&out);
	}
}

static void write_levels(struct json_writer *jw, unsigned levels)
{
	for (unsigned i = 0; i < levels; i++)
		jw_array_begin(jw);
	for (unsigned i = 0; i < levels; i++)
		jw_array_end(jw);
}

static void write_deepest(struct json_writer *jw)
{
	write_levels(jw, JSON_WRITER_DEPTH);
}

static void test_json_write__nests_to_its_depth(void **state UNUSED)
{
	char expected[2 * JSON_WRITER_DEPTH + 1] = "";

	memset(expected, '[', JSON_WRITER_DEPTH);
	memset(expected + JSON_WRITER_DEPTH, ']', JSON_WRITER_DEPTH);
	check_written(write_deepest, expected);
}

static write_fn *misuse;

static void commit_misuse(void)
{
	struct buf out = test_buf();
	struct json_writer jw;
	struct error err;

	jw_init(&jw, &out);
	misuse(&jw);
	if (!jw_finish(&jw, &err))
		return;
}

static void value_without_key(struct json_writer *jw)
{
	jw_object_begin(jw);
	jw_null(jw);
}

static void key_in_array(struct json_writer *jw)
{
	jw_array_begin(jw);
	jw_key(jw, "a");
}

static void key_after_key(struct json_writer *jw)
{
	jw_object_begin(jw);
	jw_key(jw, "a");
	jw_key(jw, "b");
}

static void end_of_another(struct json_writer *jw)
{
	jw_object_begin(jw);
	jw_array_end(jw);
}

static void end_after_key(struct json_writer *jw)
{
	jw_object_begin(jw);
	jw_key(jw, "a");
	jw_object_end(jw);
}

static void end_without_begin(struct json_writer *jw)
{
	jw_array_end(jw);
}

static void finish_without_end(struct json_writer *jw)
{
	jw_array_begin(jw);
}

static void too_deep(struct json_writer *jw)
{
	write_levels(jw, JSON_WRITER_DEPTH + 1);
}

static void test_json_write__misuse_is_a_bug(void **state UNUSED)
{
	static write_fn *const misuses[] = {
		value_without_key,  key_in_array,  key_after_key,
		end_of_another,     end_after_key, end_without_begin,
		finish_without_end, too_deep,
	};

	for (size_t i = 0; i < ARRAY_LEN(misuses); i++) {
		misuse = misuses[i];
		assert_int_equal(fate_of(commit_misuse), -SIGABRT);
	}
}

/* Any bytes as a string give JSON, and nothing is lost of valid ones. */
static void test_json_write__any_bytes_make_a_string(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 2000; seed++) {
		struct rng rng = rng_seeded(seed);
		struct buf out = test_buf();
		struct json_writer jw;
		struct error err;
		char bytes[16];
		size_t len = rng_below(&rng, sizeof(bytes));

		for (size_t i = 0; i < len; i++)
			bytes[i] = (char)rng_next(&rng);
		jw_init(&jw, &out);
		jw_string(&jw, span_from(bytes, len));
		assert_true(jw_finish(&jw, &err));
		assert_true(json_valid(buf_span(&out)));
		buf_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_write__commas_and_colons),
		cmocka_unit_test(test_json_write__numbers_at_their_ends),
		cmocka_unit_test(test_json_write__strings_are_escaped),
		cmocka_unit_test(test_json_write__what_is_no_utf8_is_replaced),
		cmocka_unit_test(test_json_write__raw_values_are_copied),
		cmocka_unit_test(test_json_write__line_breaks_become_spaces),
		cmocka_unit_test(test_json_write__a_line_is_utf8),
		cmocka_unit_test(test_json_write__limit_is_told_at_the_end),
		cmocka_unit_test(test_json_write__nests_to_its_depth),
		cmocka_unit_test(test_json_write__misuse_is_a_bug),
		cmocka_unit_test(test_json_write__any_bytes_make_a_string),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
