/* What JSON strings and numbers say. */
#include "shared/json_text.h"

#include <string.h>

#include "tests/unit/vectors.h"

static struct json_value value_of(const char *json)
{
	struct json_value value = JSON_VALUE_NONE;
	struct json_cursor c;

	json_open(&c, span_of(json));
	if (!json_read(&c, &value))
		fail_msg("not JSON: %s", json);
	return value;
}

static void check_unescaped(const char *json, struct span expected)
{
	struct buf out = test_buf();
	struct error err;

	assert_true(json_unescape(value_of(json), &out, &err));
	check_bytes(json, buf_span(&out), expected);
	buf_release(&out);
}

static void test_json_text__escapes_are_undone(void **state UNUSED)
{
	check_unescaped("\"\"", SPAN(""));
	check_unescaped("\"plain \xC3\xA9\"", SPAN("plain \xC3\xA9"));
	check_unescaped("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
			SPAN("\"\\/\b\f\n\r\t"));
	check_unescaped("\"a\\u0000b\"", SPAN("a\0b"));
	check_unescaped("\"\\u0041\\u00e9\\u20AC\"", SPAN("A\xC3\xA9\xE2\x82"
							  "\xAC"));
	check_unescaped("\"\\ud83d\\ude00\"", SPAN("\xF0\x9F\x98\x80"));
	check_unescaped("\"\\uDBFF\\uDFFF\"", SPAN("\xF4\x8F\xBF\xBF"));
}

static void test_json_text__lone_surrogates_are_replaced(void **state UNUSED)
{
	check_unescaped("\"\\ud800\"", SPAN("\xEF\xBF\xBD"));
	check_unescaped("\"\\udc00x\"", SPAN("\xEF\xBF\xBDx"));
	check_unescaped("\"\\ud800\\n\"", SPAN("\xEF\xBF\xBD\n"));
	check_unescaped("\"\\ud800\\u0041\"", SPAN("\xEF\xBF\xBD"
						   "A"));
	check_unescaped("\"\\ud800\\ud83d\\ude00\"",
			SPAN("\xEF\xBF\xBD\xF0\x9F\x98\x80"));
	check_unescaped("\"\\ude00\\ud83d\"", SPAN("\xEF\xBF\xBD\xEF\xBF\xBD"));
}

static void test_json_text__unescaping_obeys_the_limit(void **state UNUSED)
{
	struct error err = ERROR_INIT;
	struct buf out;

	buf_init(&out, 4);
	assert_false(json_unescape(value_of("\"abc\\n\""), &out, &err));
	check_error(&err, ERROR_TOO_LARGE, "limit");
	buf_release(&out);
}

static void check_key(const char *key, const char *name, bool is)
{
	if (json_key_is(span_of(key), name) != is)
		fail_msg("%s %s", key, name);
	assert_int_equal(json_string_is(value_of(key), name), is);
}

static void test_json_text__keys_are_compared_unescaped(void **state UNUSED)
{
	check_key("\"model\"", "model", true);
	check_key("\"\\u006dodel\"", "model", true);
	check_key("\"mode\\u006C\"", "model", true);
	check_key("\"\\u006d\\u006f\\u0064\\u0065\\u006c\"", "model", true);
	check_key("\"\"", "", true);
	check_key("\"\\u0000\"", "", false);
	check_key("\"model\\u0000\"", "model", false);
	check_key("\"models\"", "model", false);
	check_key("\"mode\"", "model", false);
	check_key("\"mode\\n\"", "model", false);
	check_key("\"Model\"", "model", false);
	check_key("\"\\u004dodel\"", "model", false);
	check_key("\"\\u006d\"", "model", false);
	check_key("\"model\\\\\"", "model", false);
	check_key("\"a\\/b\"", "a/b", true);
	check_key("\"\\ud83d\\ude00\"", "\xF0\x9F\x98\x80", true);
	check_key("\"\\ud83d\\ude00\"", "\xF0\x9F", false);
}

static void test_json_text__only_strings_are_strings(void **state UNUSED)
{
	assert_false(json_string_is(value_of("1"), "1"));
	assert_false(json_string_is(value_of("null"), "null"));
	assert_false(json_string_is(JSON_VALUE_NONE, ""));
	assert_false(json_string_starts_with(value_of("[]"), ""));
}

static void check_prefix(const char *json, const char *prefix, bool has)
{
	if (json_string_starts_with(value_of(json), prefix) != has)
		fail_msg("%s %s", json, prefix);
}

static void test_json_text__prefixes(void **state UNUSED)
{
	check_prefix("\"You are\"", "You", true);
	check_prefix("\"Yo\\u0075 are\"", "You", true);
	check_prefix("\"You\\n\"", "You", true);
	check_prefix("\"You\"", "You", true);
	check_prefix("\"Yo\"", "You", false);
	check_prefix("\"\\u0059o\"", "You", false);
	check_prefix("\"\\u0059ox\"", "You", false);
	check_prefix("\"\"", "", true);
	check_prefix("\"\\n\"", "", true);
}

static void check_u64(const char *json, bool ok, uint64_t expected)
{
	uint64_t number = 42;

	assert_int_equal(json_to_u64(value_of(json), &number), ok);
	assert_int_equal(number, ok ? expected : 42);
}

static void test_json_text__whole_numbers(void **state UNUSED)
{
	check_u64("0", true, 0);
	check_u64("9007199254740993", true, 9007199254740993u);
	check_u64("18446744073709551615", true, UINT64_MAX);
	check_u64("18446744073709551616", false, 0);
	check_u64("-1", false, 0);
	check_u64("-0", false, 0);
	check_u64("1.0", false, 0);
	check_u64("1e2", false, 0);
	check_u64("\"1\"", false, 0);
	check_u64("null", false, 0);
}

static void check_double(const char *json, bool ok, double expected)
{
	double number;

	assert_int_equal(json_to_double(value_of(json), &number), ok);
	if (ok && number != expected)
		fail_msg("%s: %.17g", json, number);
}

static void test_json_text__any_number_as_a_double(void **state UNUSED)
{
	check_double("0.30000000000000004", true, 0.30000000000000004);
	check_double("-1.5E+3", true, -1500);
	check_double("9007199254740993", true, 9007199254740992.0);
	check_double("1e400", false, 0);
	check_double("-1e400", false, 0);
	check_double("1e-400", true, 0);
	check_double("-9999.0", true, -9999);
	check_double("\"1\"", false, 0);
	check_double("0.000000000000000000000000000000000000000000000000000001",
		     true, 1e-54);
	check_double("0.00000000000000000000000000000000000000000000000000000"
		     "0000000000000000001",
		     false, 0);
}

static void check_utf8(struct span text, bool valid)
{
	struct guarded g = guard(text);

	assert_int_equal(utf8_valid(g.text), valid);
	guard_free(&g);
}

static void test_json_text__utf8_by_rfc_3629(void **state UNUSED)
{
	check_utf8(SPAN(""), true);
	check_utf8(SPAN("a\0\x7F"), true);
	check_utf8(SPAN("\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF"), true);
	check_utf8(SPAN("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"), true);
	check_utf8(SPAN("\x80"), false);
	check_utf8(SPAN("\xC0\x80"), false);
	check_utf8(SPAN("\xC1\xBF"), false);
	check_utf8(SPAN("\xE0\x9F\xBF"), false);
	check_utf8(SPAN("\xED\xA0\x80"), false);
	check_utf8(SPAN("\xF0\x8F\xBF\xBF"), false);
	check_utf8(SPAN("\xF4\x90\x80\x80"), false);
	check_utf8(SPAN("\xF5\x80\x80\x80"), false);
	check_utf8(SPAN("\xFF"), false);
	check_utf8(SPAN("\xC3"), false);
	check_utf8(SPAN("\xE2\x80"), false);
	check_utf8(SPAN("\xF0\x9F\x98"), false);
	check_utf8(SPAN("\xE2\x80g"), false);
	check_utf8(SPAN("\xF0\x9F\x98g"), false);
}

/* Every character, and what is no character because it is a surrogate. */
static void test_json_text__utf8_of_every_character(void **state UNUSED)
{
	for (uint32_t code = 0; code < 0x110000; code++) {
		char bytes[4];
		size_t len = utf8_put(bytes, code);
		bool surrogate = code >= 0xD800 && code < 0xE000;

		if (utf8_valid(span_from(bytes, len)) == surrogate)
			fail_msg("U+%04X", code);
		if (utf8_valid(span_from(bytes, len - 1)) && len > 1)
			fail_msg("U+%04X cut", code);
	}
}

/* By the table of RFC 3629 section 4, for all that begins with three bytes. */
static bool is_three_byte_character(unsigned a, unsigned b, unsigned c)
{
	if (b < 0x80 || b > 0xBF || c < 0x80 || c > 0xBF)
		return false;
	return (a == 0xE0 && b >= 0xA0) || (a >= 0xE1 && a <= 0xEC) ||
	       (a == 0xED && b <= 0x9F) || a == 0xEE || a == 0xEF;
}

static void test_json_text__utf8_of_all_three_bytes(void **state UNUSED)
{
	for (unsigned i = 0xE00000; i < 0xF80000; i++) {
		const char bytes[] = { (char)(i >> 16), (char)(i >> 8),
				       (char)i };
		bool is = is_three_byte_character(i >> 16, i >> 8 & 0xFF,
						  i & 0xFF);

		if (utf8_valid(span_from(bytes, 3)) != is)
			fail_msg("%06X", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_text__escapes_are_undone),
		cmocka_unit_test(test_json_text__lone_surrogates_are_replaced),
		cmocka_unit_test(test_json_text__unescaping_obeys_the_limit),
		cmocka_unit_test(test_json_text__keys_are_compared_unescaped),
		cmocka_unit_test(test_json_text__only_strings_are_strings),
		cmocka_unit_test(test_json_text__prefixes),
		cmocka_unit_test(test_json_text__whole_numbers),
		cmocka_unit_test(test_json_text__any_number_as_a_double),
		cmocka_unit_test(test_json_text__utf8_by_rfc_3629),
		cmocka_unit_test(test_json_text__utf8_of_every_character),
		cmocka_unit_test(test_json_text__utf8_of_all_three_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
