/* JSON in place: what is accepted, and which bytes come out. */
#include "shared/json_scan.h"

#include <string.h>

#include "shared/limits.h"
#include "tests/unit/generate.h"
#include "tests/unit/vectors.h"

/* Is it one JSON value by the scanner's grammar (not looking at UTF-8)? */
static bool scans(struct span text)
{
	struct guarded g = guard(text);
	struct json_cursor c;
	bool ok;

	json_open(&c, g.text);
	ok = json_skip(&c);
	ok = json_close(&c) && ok;
	guard_free(&g);
	return ok;
}

static void check_accepted(const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!scans(span_of(texts[i])))
			fail_msg("refused: %s", texts[i]);
}

static void check_refused(const char *const *texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (scans(span_of(texts[i])))
			fail_msg("accepted: %s", texts[i]);
}

static void test_json_scan__accepts_the_standard(void **state UNUSED)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		"\"\"",
		"0",
		"true",
		"false",
		"null",
		" \t\r\n{ } \n",
		"[ ]",
		"{\"a\":1}",
		"{\"\":{}}",
		"{\"a\" : [ 1 , 2 ] , \"a\" : null }",
		"[[],[[]],{}]",
		"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00\"",
		"\"\\ud800\"",
		"\"\\udfff\\ud800\"",
		"\"\\u0000\"",
		"\"\x7F\xE2\x80\xA8\"",
		"-0",
		"-0.0",
		"0.5",
		"0e0",
		"1E+2",
		"1e-2",
		"9007199254740993",
		"0.30000000000000004",
		"1e400",
		"-1e-400",
		"123456789012345678901234567890.5E123456789",
	};

	check_accepted(texts, ARRAY_LEN(texts));
}

static void test_json_scan__refuses_everything_else(void **state UNUSED)
{
	static const char *const texts[] = {
		"",
		" ",
		"{",
		"}",
		"[",
		"]",
		"{]",
		"[}",
		"\"",
		"\"a",
		",",
		":",
		"{}{}",
		"[] []",
		"1 2",
		"{} x",
		"null,",
		"[1",
		"[1,",
		"[1,]",
		"[,1]",
		"[1,,2]",
		"[1 2]",
		"[1:2]",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{,}",
		"{\"a\":1 \"b\":2}",
		"{\"a\" 1}",
		"{\"a\",1}",
		"{a:1}",
		"{1:1}",
		"{'a':1}",
		"{null:1}",
		"{\"a\":1}}",
		"[[1]",
		"'a'",
		"\"\\x41\"",
		"\"\\u12\"",
		"\"\\u12G4\"",
		"\"\\U0041\"",
		"\"\\\"",
		"\"\\",
		"\"\\u123",
		"\"a\nb\"",
		"\"a\tb\"",
		"\"\x01\"",
		"\"\x1F\"",
		"00",
		"01",
		"-",
		"-a",
		"+1",
		".5",
		"1.",
		"1.e1",
		"1e",
		"1e+",
		"1e1.5",
		"0x1",
		"1_0",
		"- 1",
		"Infinity",
		"-Infinity",
		"NaN",
		"nan",
		"True",
		"NULL",
		"tru",
		"truex",
		"nul",
		"undefined",
		"//x\n1",
		"/**/1",
		"1//x",
		"[1]\xEF\xBB\xBF",
		"\xEF\xBB\xBF[1]",
		"\v1",
		"\f1",
		"\xA0"
		"1",
	};

	check_refused(texts, ARRAY_LEN(texts));
	assert_false(scans(SPAN("1\0")));
	assert_false(scans(SPAN("\0")));
	assert_false(scans(SPAN("\"a\0b\"")));
	assert_false(scans(SPAN("nul\0")));
	assert_false(scans(SPAN("1e\0")));
	assert_false(scans(SPAN_NONE));
}

static void test_json_scan__every_prefix_of_an_object_is_refused(
	void **state UNUSED)
{
	static const char text[] =
		"{\"a\\u00e9\":[1.5e+3,true,{\"b\":null}],\"c\":\"\\\\\"}";

	for (size_t len = 0; len < sizeof(text) - 1; len++)
		if (scans(span_from(text, len)))
			fail_msg("accepted: %.*s", (int)len, text);
	assert_true(scans(SPAN(text)));
}

/* `levels` containers, one in the other. */
static void check_depth(size_t levels, const char *open, const char *close,
			bool ok)
{
	struct buf text = test_buf();

	for (size_t i = 0; i < levels; i++)
		put(&text, span_of(open));
	put(&text, SPAN("1"));
	for (size_t i = 0; i < levels; i++)
		put(&text, span_of(close));
	assert_int_equal(scans(buf_span(&text)), ok);
	buf_release(&text);
}

static void test_json_scan__follows_nesting_to_the_limit(void **state UNUSED)
{
	check_depth(LIMIT_JSON_DEPTH, "[", "]", true);
	check_depth(LIMIT_JSON_DEPTH, "{\"a\":", "}", true);
	check_depth(LIMIT_JSON_DEPTH / 2, "[{\"a\":", "}]", true);
	check_depth(LIMIT_JSON_DEPTH / 2, "{\"a\":[", "]}", true);
	check_depth(LIMIT_JSON_DEPTH + 1, "[", "]", false);
	check_depth(LIMIT_JSON_DEPTH + 1, "{\"a\":", "}", false);
	check_depth(5000, "[", "]", false);
	check_depth(1000000, "[", "", false);
	check_depth(LIMIT_JSON_DEPTH, "[", "}", false);
}

static void test_json_scan__valid_demands_utf8_too(void **state UNUSED)
{
	assert_true(json_valid(SPAN("{\"a\":\"\xC3\xA9\"}")));
	assert_true(scans(SPAN("\"\xFF\"")));
	assert_false(json_valid(SPAN("\"\xFF\"")));
	assert_false(json_valid(SPAN("\"\xED\xA0\x80\"")));
	assert_false(json_valid(SPAN("[1,]")));
	assert_false(json_valid(SPAN("")));
}

/* The member as json_find() sees it; NULL: absent. */
static void check_found(const char *object, const char *name,
			const char *expected)
{
	struct json_value value = { .type = JSON_TRUE };
	struct guarded g = guard(span_of(object));
	bool found = json_find(g.text, name, &value);

	if (found != (expected != NULL))
		fail_msg("%s in %s", name, object);
	if (expected)
		check_text(value.text, expected);
	else
		assert_int_equal(value.type, JSON_TRUE);
	guard_free(&g);
}

static void test_json_scan__find_gives_the_bytes_as_they_stand(
	void **state UNUSED)
{
	check_found("{\"a\" :\n 9007199254740993 }", "a", "9007199254740993");
	check_found("{\"a\":0.30000000000000004}", "a", "0.30000000000000004");
	check_found("{\"a\":\"\\u0000\\ud800\"}", "a", "\"\\u0000\\ud800\"");
	check_found("{\"b\":1,\"a\":[1, {\"a\":2} ]}", "a", "[1, {\"a\":2} ]");
	check_found("{\"a\":1e400}", "a", "1e400");
}

static void test_json_scan__the_last_of_duplicates_counts(void **state UNUSED)
{
	check_found("{\"a\":1,\"a\":2}", "a", "2");
	check_found("{\"\\u0061\":1,\"b\":0}", "a", "1");
	check_found("{\"a\":1,\"\\u0061\":null}", "a", "null");
}

static void test_json_scan__only_the_outermost_members_count(
	void **state UNUSED)
{
	check_found("{\"b\":{\"a\":1}}", "a", NULL);
	check_found("{\"b\":\"\\\"a\\\":1\"}", "a", NULL);
	check_found("{\"A\":1}", "a", NULL);
	check_found("{\"a\\u0000\":1}", "a", NULL);
	check_found("{\"aa\":1}", "a", NULL);
	check_found("{\"\":1}", "", "1");
}

static void test_json_scan__a_malformed_object_has_no_members(
	void **state UNUSED)
{
	check_found("{\"a\":1,}", "a", NULL);
	check_found("{\"a\":1} x", "a", NULL);
	check_found("{\"a\":1", "a", NULL);
	check_found("[\"a\",1]", "a", NULL);
	check_found("null", "a", NULL);
	check_found("", "a", NULL);
}

static void test_json_scan__pick_takes_several_in_one_walk(void **state UNUSED)
{
	static const char *const names[] = { "a", "b", "c" };
	struct json_value v[3];

	assert_true(
		json_pick(SPAN("{\"c\":[],\"x\":0,\"a\":\"s\"}"), names, v, 3));
	assert_int_equal(v[0].type, JSON_STRING);
	assert_int_equal(v[1].type, JSON_NONE);
	assert_int_equal(v[2].type, JSON_ARRAY);
	check_text(v[0].text, "\"s\"");
	assert_false(json_pick(SPAN("{\"a\":1,\"b\":tru}"), names, v, 3));
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(v[i].type, JSON_NONE);
}

static void check_peek(const char *text, enum json_type expected)
{
	struct json_cursor c;

	json_open(&c, span_of(text));
	assert_int_equal(json_peek(&c), expected);
}

static void test_json_scan__peek_tells_the_kind(void **state UNUSED)
{
	check_peek(" {", JSON_OBJECT);
	check_peek("\n[", JSON_ARRAY);
	check_peek("\"", JSON_STRING);
	check_peek("-", JSON_NUMBER);
	check_peek("9", JSON_NUMBER);
	check_peek("t", JSON_TRUE);
	check_peek("f", JSON_FALSE);
	check_peek("n", JSON_NULL);
	check_peek("}", JSON_NONE);
	check_peek("", JSON_NONE);
	check_peek("+", JSON_NONE);
}

/* Walk everything by entering it, writing down what comes. */
static void walk(struct json_cursor *c, struct buf *out)
{
	struct json_value value;
	struct span key;

	switch (json_peek(c)) {
	case JSON_OBJECT:
		json_enter_object(c);
		put(out, SPAN("{"));
		while (json_next_key(c, &key)) {
			put(out, key);
			put(out, SPAN(":"));
			walk(c, out);
			put(out, SPAN(";"));
		}
		put(out, SPAN("}"));
		break;
	case JSON_ARRAY:
		json_enter_array(c);
		put(out, SPAN("["));
		while (json_next_item(c)) {
			walk(c, out);
			put(out, SPAN(";"));
		}
		put(out, SPAN("]"));
		break;
	default:
		if (json_read(c, &value))
			put(out, value.text);
	}
}

static void check_walk(const char *text, const char *expected)
{
	struct guarded g = guard(span_of(text));
	struct buf out = test_buf();
	struct json_cursor c;

	json_open(&c, g.text);
	walk(&c, &out);
	if (json_close(&c) != (expected != NULL))
		fail_msg("%s", text);
	if (expected)
		check_text(buf_span(&out), expected);
	buf_release(&out);
	guard_free(&g);
}

static void test_json_scan__cursor_walks_what_it_enters(void **state UNUSED)
{
	check_walk(" { } ", "{}");
	check_walk("[ ]", "[]");
	check_walk("{\"a\" : 1 , \"b\" : [ true , [ ] , { } ] }",
		   "{\"a\":1;\"b\":[true;[];{};];}");
	check_walk("[[[1],2],\"x\"]", "[[[1;];2;];\"x\";]");
	check_walk("[1,]", NULL);
	check_walk("[,1]", NULL);
	check_walk("{\"a\":1,}", NULL);
	check_walk("{\"a\":[1}]", NULL);
	check_walk("[1]]", NULL);
	check_walk("{\"a\":1", NULL);
	check_walk("[1 2]", NULL);
}

static void test_json_scan__the_first_error_is_sticky(void **state UNUSED)
{
	struct json_value value = { .type = JSON_TRUE };
	struct json_cursor c;
	struct span key;

	json_open(&c, SPAN("[x, 1]"));
	assert_true(json_enter_array(&c));
	assert_true(json_next_item(&c));
	assert_false(json_read(&c, &value));
	assert_int_equal(value.type, JSON_TRUE);
	assert_int_equal(json_peek(&c), JSON_NONE);
	assert_false(json_next_item(&c));
	assert_false(json_next_key(&c, &key));
	assert_false(json_enter_object(&c));
	assert_false(json_enter_array(&c));
	assert_false(json_skip(&c));
	assert_false(json_close(&c));
}

static void test_json_scan__entering_another_kind_is_an_error(
	void **state UNUSED)
{
	struct json_cursor c;

	json_open(&c, SPAN("[]"));
	assert_false(json_enter_object(&c));
	assert_false(json_close(&c));
	json_open(&c, SPAN("{}"));
	assert_false(json_enter_array(&c));
	json_open(&c, SPAN("1"));
	assert_false(json_enter_array(&c));
}

static void test_json_scan__close_demands_the_end(void **state UNUSED)
{
	struct json_cursor c;

	json_open(&c, SPAN("1 1"));
	assert_true(json_skip(&c));
	assert_false(json_close(&c));
}

/* All of a generated text is one value, and no byte of it can be missing. */
static void test_json_scan__generated_values(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 3000; seed++) {
		struct rng rng = rng_seeded(seed);
		struct buf text = test_buf();
		struct json_value value;
		struct json_cursor c;
		struct guarded g;

		gen_value(&rng, &text, 6);
		g = guard(buf_span(&text));
		json_open(&c, g.text);
		assert_true(json_read(&c, &value));
		check_bytes("value", value.text, g.text);
		assert_true(json_close(&c));
		assert_true(json_valid(g.text));
		text.len--;
		if (strchr("]}\"", text.data[text.len]))
			assert_false(scans(buf_span(&text)));
		guard_free(&g);
		buf_release(&text);
	}
}

/*
 * One cursor by the index, one by the text: into what is entered at random both
 * go alike, and they find the same.
 */
static void check_alike(struct rng *rng, struct json_cursor *a,
			struct json_cursor *b)
{
	enum json_type type = json_peek(a);
	struct json_value value_a = JSON_VALUE_NONE, value_b = JSON_VALUE_NONE;
	struct span key_a, key_b;

	assert_int_equal(type, json_peek(b));
	assert_int_equal(a->pos, b->pos);
	if (type == JSON_OBJECT && !rng_one_in(rng, 4)) {
		assert_true(json_enter_object(a) && json_enter_object(b));
		assert_int_equal(a->pos, b->pos);
		while (json_next_key(a, &key_a)) {
			assert_true(json_next_key(b, &key_b));
			check_bytes("key", key_a, key_b);
			check_alike(rng, a, b);
		}
		assert_false(json_next_key(b, &key_b));
	} else if (type == JSON_ARRAY && !rng_one_in(rng, 4)) {
		assert_true(json_enter_array(a) && json_enter_array(b));
		assert_int_equal(a->pos, b->pos);
		while (json_next_item(a)) {
			assert_true(json_next_item(b));
			check_alike(rng, a, b);
		}
		assert_false(json_next_item(b));
	} else {
		assert_true(json_read(a, &value_a) && json_read(b, &value_b));
		check_bytes("value", value_a.text, value_b.text);
		assert_int_equal(value_a.type, value_b.type);
	}
	assert_int_equal(a->pos, b->pos);
}

/* The same from a value on, which was read by the index. */
static void check_value_alike(struct rng *rng, struct json_value value)
{
	struct json_cursor a, b;

	json_open_value(&a, value);
	json_open(&b, value.text);
	check_alike(rng, &a, &b);
	assert_true(json_close(&a) && json_close(&b));
}

static void test_json_scan__an_index_changes_nothing(void **state UNUSED)
{
	size_t indexed = 0;

	for (uint64_t seed = 0; seed < 5000; seed++) {
		struct rng rng = rng_seeded(seed);
		struct buf text = test_buf();
		struct json_index index;
		struct json_cursor a, b;
		struct guarded g;

		gen_value(&rng, &text, (unsigned)(seed / 7 % 10));
		g = guard(buf_span(&text));
		json_index_make(&index, g.text,
				(unsigned)(seed % (JSON_PARTS_LEVELS + 1)));
		json_open_indexed(&a, g.text, &index);
		json_open(&b, g.text);
		check_alike(&rng, &a, &b);
		assert_true(json_close(&a) && json_close(&b));
		assert_false(json_skip(&a));
		for (size_t i = 0; i < index.count; i++)
			if (index.parts[i].role == JSON_PART_VALUE)
				check_value_alike(&rng,
						  (struct json_value){
							  index.parts[i].type,
							  index.parts[i].text,
							  &index.parts[i] });
		indexed += index.count > 0;
		/* What is malformed has none. */
		text.len--;
		json_index_make(&index, buf_span(&text), JSON_PARTS_LEVELS);
		if (strchr("]}\"", text.data[text.len]))
			assert_int_equal(index.count, 0);
		guard_free(&g);
		buf_release(&text);
	}
	assert_true(indexed > 4000);
}

static void test_json_scan__more_parts_than_room_is_no_index(
	void **state UNUSED)
{
	struct json_index index;
	struct error err;
	struct buf text;

	for (size_t items = JSON_PARTS - 4; items < JSON_PARTS + 2; items++) {
		text = test_buf();
		for (size_t i = 0; i < items; i++)
			assert_true(buf_add(&text, i ? SPAN(",1") : SPAN("[1"),
					    &err));
		assert_true(buf_add(&text, SPAN("]"), &err));
		json_index_make(&index, buf_span(&text), JSON_PARTS_LEVELS);
		assert_int_equal(index.count,
				 items + 2 <= JSON_PARTS ? items + 2 : 0);
		buf_release(&text);
	}
}

/* Errors stick with an index as without. */
static void test_json_scan__an_index_refuses_another_kind(void **state UNUSED)
{
	struct span text = SPAN("{\"a\":[1]}");
	struct json_index index;
	struct json_cursor c;
	struct span key;

	json_index_make(&index, text, JSON_PARTS_LEVELS);
	json_open_indexed(&c, text, &index);
	assert_false(json_enter_array(&c));
	assert_int_equal(json_peek(&c), JSON_NONE);
	assert_false(json_skip(&c));
	json_open_indexed(&c, text, &index);
	assert_true(json_enter_object(&c) && json_next_key(&c, &key));
	assert_false(json_enter_object(&c));
	assert_false(json_next_key(&c, &key));
	assert_false(json_close(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_scan__accepts_the_standard),
		cmocka_unit_test(test_json_scan__refuses_everything_else),
		cmocka_unit_test(
			test_json_scan__every_prefix_of_an_object_is_refused),
		cmocka_unit_test(test_json_scan__follows_nesting_to_the_limit),
		cmocka_unit_test(test_json_scan__valid_demands_utf8_too),
		cmocka_unit_test(
			test_json_scan__find_gives_the_bytes_as_they_stand),
		cmocka_unit_test(test_json_scan__the_last_of_duplicates_counts),
		cmocka_unit_test(
			test_json_scan__only_the_outermost_members_count),
		cmocka_unit_test(
			test_json_scan__a_malformed_object_has_no_members),
		cmocka_unit_test(
			test_json_scan__pick_takes_several_in_one_walk),
		cmocka_unit_test(test_json_scan__peek_tells_the_kind),
		cmocka_unit_test(test_json_scan__cursor_walks_what_it_enters),
		cmocka_unit_test(test_json_scan__the_first_error_is_sticky),
		cmocka_unit_test(
			test_json_scan__entering_another_kind_is_an_error),
		cmocka_unit_test(test_json_scan__close_demands_the_end),
		cmocka_unit_test(test_json_scan__generated_values),
		cmocka_unit_test(test_json_scan__an_index_changes_nothing),
		cmocka_unit_test(
			test_json_scan__more_parts_than_room_is_no_index),
		cmocka_unit_test(test_json_scan__an_index_refuses_another_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
