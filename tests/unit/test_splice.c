/* Byte-exact edits. */
#include "proxy/splice.h"

#include <signal.h>
#include <string.h>

#include "shared/json_scan.h"
#include "shared/json_text.h"
#include "tests/unit/generate.h"
#include "tests/unit/undo.h"
#include "tests/unit/vectors.h"

/* Apply and take back again. */
static void check_applied(struct splice_list *list, struct span source,
			  struct span expected)
{
	struct buf out = test_buf(), undone = test_buf();
	struct guarded g = guard(source);
	struct error err;

	assert_true(splice_apply(list, g.text, &out, &err));
	check_bytes("edited", buf_span(&out), expected);
	assert_true(undo_splices(list, source, buf_span(&out), &undone));
	check_bytes("undone", buf_span(&undone), source);
	guard_free(&g);
	buf_release(&out);
	buf_release(&undone);
	splice_release(list);
}

static void test_splice__no_edit_is_a_copy(void **state UNUSED)
{
	struct splice_list list = SPLICE_LIST_INIT;

	check_applied(&list, SPAN("a\0b"), SPAN("a\0b"));
	check_applied(&list, SPAN(""), SPAN(""));
}

static void test_splice__edits_in_any_order_of_adding(void **state UNUSED)
{
	struct splice_list list = SPLICE_LIST_INIT;

	splice_replace(&list, 4, 2, SPAN("XYZ"));
	splice_insert(&list, 8, SPAN("!"));
	splice_remove(&list, 0, 1);
	splice_insert(&list, 2, SPAN("<"));
	check_applied(&list, SPAN("abcdefgh"), SPAN("b<cdXYZgh!"));
}

static void test_splice__at_one_place_insertions_keep_their_order(
	void **state UNUSED)
{
	struct splice_list list = SPLICE_LIST_INIT;

	splice_replace(&list, 1, 1, SPAN("B"));
	splice_insert(&list, 1, SPAN("1"));
	splice_insert(&list, 1, SPAN("2"));
	splice_insert(&list, 1, SPAN("3"));
	check_applied(&list, SPAN("abc"), SPAN("a123Bc"));
}

static void test_splice__neighbours_do_not_overlap(void **state UNUSED)
{
	struct splice_list list = SPLICE_LIST_INIT;

	splice_remove(&list, 2, 2);
	splice_remove(&list, 0, 2);
	splice_insert(&list, 2, SPAN("|"));
	splice_replace(&list, 4, 2, SPAN(""));
	check_applied(&list, SPAN("aabbcc"), SPAN("|"));
}

static void test_splice__clear_forgets(void **state UNUSED)
{
	struct splice_list list = SPLICE_LIST_INIT;

	splice_remove(&list, 0, 3);
	splice_clear(&list);
	splice_insert(&list, 3, SPAN("d"));
	check_applied(&list, SPAN("abc"), SPAN("abcd"));
}

static void test_splice__applying_obeys_the_limit(void **state UNUSED)
{
	struct splice_list list = SPLICE_LIST_INIT;

	splice_insert(&list, 1, SPAN("xyz"));
	for (size_t limit = 1; limit <= 5; limit++) {
		struct error err = ERROR_INIT;
		struct buf out;

		buf_init(&out, limit);
		assert_false(splice_apply(&list, SPAN("ab"), &out, &err));
		check_error(&err, ERROR_TOO_LARGE, "limit");
		buf_release(&out);
	}
	splice_release(&list);
}

static void apply_overlapping(void)
{
	struct splice_list list = SPLICE_LIST_INIT;
	struct buf out = test_buf();
	struct error err;

	splice_remove(&list, 0, 3);
	splice_insert(&list, 1, SPAN("x"));
	if (!splice_apply(&list, SPAN("abcd"), &out, &err))
		return;
}

static void apply_beyond_the_end(void)
{
	struct splice_list list = SPLICE_LIST_INIT;
	struct buf out = test_buf();
	struct error err;

	splice_remove(&list, 3, 2);
	if (!splice_apply(&list, SPAN("abcd"), &out, &err))
		return;
}

static void test_splice__impossible_edits_are_bugs(void **state UNUSED)
{
	assert_int_equal(fate_of(apply_overlapping), -SIGABRT);
	assert_int_equal(fate_of(apply_beyond_the_end), -SIGABRT);
}

/* Splices at rising places, and beside them what they make of the source. */
static void gen_edits(struct rng *rng, struct span source, struct splice *edits,
		      size_t *count, struct buf *expected)
{
	static const char *const texts[] = { "", "x", "yy", "zzz" };
	size_t pos = 0;

	for (*count = 0; *count < 12; (*count)++) {
		struct splice *s = &edits[*count];
		size_t kept = rng_below(rng, 4);
		size_t left = source.len - pos;

		kept = kept < left ? kept : left;
		s->cut = rng_below(rng, 4);
		s->cut = s->cut < left - kept ? s->cut : left - kept;
		s->text = span_of(RNG_PICK(rng, texts));
		s->at = pos + kept;
		/* At one place the order of adding would count. */
		if (*count && !kept)
			break;
		put(expected, span_from(source.data + pos, kept));
		put(expected, s->text);
		pos = s->at + s->cut;
	}
	put(expected, span_after(source, pos));
}

static void test_splice__generated_edits(void **state UNUSED)
{
	static const char source[] = "The quick brown fox jumps over it.";

	for (uint64_t seed = 0; seed < 2000; seed++) {
		struct splice_list list = SPLICE_LIST_INIT;
		struct rng rng = rng_seeded(seed);
		struct buf expected = test_buf();
		struct splice edits[12];
		size_t order[12], count;

		gen_edits(&rng, SPAN(source), edits, &count, &expected);
		for (size_t i = 0; i < count; i++)
			order[i] = i;
		rng_shuffle(&rng, order, count);
		for (size_t i = 0; i < count; i++)
			splice_replace(&list, edits[order[i]].at,
				       edits[order[i]].cut,
				       edits[order[i]].text);
		check_applied(&list, SPAN(source), buf_span(&expected));
		buf_release(&expected);
	}
}

/* --- Members cut out of an object. -------------------------------------- */

/* Cut the members whose keys begin with an x. */
static void cut_members(struct span object, struct splice_list *list)
{
	struct member_cutter cutter;
	struct json_value value;
	struct json_cursor c;
	struct span key;

	json_open(&c, object);
	json_enter_object(&c);
	cutter_begin(&cutter, list, c.pos);
	while (json_next_key(&c, &key)) {
		json_read(&c, &value);
		cutter_member(&cutter, (size_t)(key.data - object.data), c.pos,
			      key.data[1] == 'x');
	}
	cutter_end(&cutter);
	assert_true(json_close(&c));
}

static void check_cut(const char *object, const char *expected)
{
	struct splice_list list = SPLICE_LIST_INIT;

	cut_members(span_of(object), &list);
	check_applied(&list, span_of(object), span_of(expected));
}

static void test_splice__cut_members_take_one_comma_each(void **state UNUSED)
{
	check_cut("{}", "{}");
	check_cut("{\"a\":1}", "{\"a\":1}");
	check_cut("{\"x\":1}", "{}");
	check_cut("{\"x\":1,\"x\":2}", "{}");
	check_cut("{\"x\":1,\"a\":2}", "{\"a\":2}");
	check_cut("{\"a\":1,\"x\":2}", "{\"a\":1}");
	check_cut("{\"a\":1,\"x\":2,\"b\":3}", "{\"a\":1,\"b\":3}");
	check_cut("{\"x\":0,\"a\":1,\"x\":2,\"x\":3,\"b\":4,\"x\":5,\"x\":6}",
		  "{\"a\":1,\"b\":4}");
}

static void test_splice__cut_members_take_the_space_between(void **state UNUSED)
{
	check_cut("{\"a\": 1, \"x\": 2, \"b\": 3}", "{\"a\": 1, \"b\": 3}");
	check_cut("{\"a\": 1, \"x\": 2}", "{\"a\": 1}");
	check_cut("{\"x\": 2, \"a\": 1}", "{\"a\": 1}");
	check_cut("{\n  \"a\": 1,\n  \"x\": 2,\n  \"b\": 3\n}",
		  "{\n  \"a\": 1,\n  \"b\": 3\n}");
	check_cut("{\n  \"x\": 2,\n  \"a\": 1,\n  \"x\": 3\n}",
		  "{\n  \"a\": 1\n}");
}

/* How one printer sets white space, the same throughout an object. */
struct style {
	const char *open, *colon, *comma, *close;
};

static void gen_object(struct rng rng, const struct style *style, bool with_x,
		       struct buf *out)
{
	static const char *const keys[] = { "a", "x", "xy", "b", "x\\u0000" };
	size_t count = rng_below(&rng, 8);
	bool any = false;

	put(out, SPAN("{"));
	for (size_t i = 0; i < count; i++) {
		const char *key = RNG_PICK(&rng, keys);
		struct buf value = test_buf();

		gen_value(&rng, &value, 3);
		if (with_x || *key != 'x') {
			put(out, span_of(any ? style->comma : style->open));
			putf(out, "\"%s\"%s", key, style->colon);
			put(out, buf_span(&value));
			any = true;
		}
		buf_release(&value);
	}
	put(out, span_of(any ? style->close : "}"));
}

/* Without white space at the ends, empty objects are printed the same. */
static void test_splice__cut_object_is_as_if_made_without(void **state UNUSED)
{
	static const struct style styles[] = {
		{ "", ":", ",", "}" },
		{ "", ": ", ", ", "}" },
		{ "", " : ", " ,\n\t", "}" },
	};

	for (uint64_t seed = 0; seed < 3000; seed++) {
		const struct style *style = &styles[seed % ARRAY_LEN(styles)];
		struct splice_list list = SPLICE_LIST_INIT;
		struct buf with = test_buf(), without = test_buf();

		gen_object(rng_seeded(seed), style, true, &with);
		gen_object(rng_seeded(seed), style, false, &without);
		assert_true(json_valid(buf_span(&without)));
		cut_members(buf_span(&with), &list);
		check_applied(&list, buf_span(&with), buf_span(&without));
		buf_release(&with);
		buf_release(&without);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_splice__no_edit_is_a_copy),
		cmocka_unit_test(test_splice__edits_in_any_order_of_adding),
		cmocka_unit_test(
			test_splice__at_one_place_insertions_keep_their_order),
		cmocka_unit_test(test_splice__neighbours_do_not_overlap),
		cmocka_unit_test(test_splice__clear_forgets),
		cmocka_unit_test(test_splice__applying_obeys_the_limit),
		cmocka_unit_test(test_splice__impossible_edits_are_bugs),
		cmocka_unit_test(test_splice__generated_edits),
		cmocka_unit_test(test_splice__cut_members_take_one_comma_each),
		cmocka_unit_test(
			test_splice__cut_members_take_the_space_between),
		cmocka_unit_test(test_splice__cut_object_is_as_if_made_without),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
