/* Event streams: cut at any place, nothing lost, the standard's meaning. */
#include "shared/sse.h"

#include <stdlib.h>
#include <string.h>

#include "shared/mem.h"
#include "tests/unit/generate.h"
#include "tests/unit/vectors.h"

/* What was seen of a stream. */
struct seen {
	struct sse_parser sse;
	struct buf raw;    /* of all events */
	struct buf events; /* as note() writes them */
	unsigned count;
	unsigned stop_after; /* 0: never */
};

/* "NAME|DATA;" for data, "-;" for an event without; line feeds as "/". */
static void note(struct buf *events, struct span name, struct span data,
		 bool has_data)
{
	if (!has_data && !name.len)
		return;
	put(events, name);
	put(events, has_data ? SPAN("|") : SPAN("-"));
	for (size_t i = 0; i < data.len; i++)
		put(events, data.data[i] == '\n' ? SPAN("/")
						 : span_from(data.data + i, 1));
	put(events, SPAN(";"));
}

static bool on_event(const struct sse_event *event, void *arg)
{
	struct seen *seen = arg;
	const char *raw_end = event->raw.data + event->raw.len;

	put(&seen->raw, event->raw);
	note(&seen->events, event->name, event->data, event->has_data);
	if (event->data_in_raw)
		assert_true(event->data.data >= event->raw.data &&
			    event->data.data + event->data.len <= raw_end);
	return ++seen->count != seen->stop_after;
}

static void seen_init(struct seen *seen, size_t event_limit)
{
	*seen = (struct seen){ .raw = test_buf(), .events = test_buf() };
	sse_init(&seen->sse, event_limit);
}

static void seen_release(struct seen *seen)
{
	sse_release(&seen->sse);
	buf_release(&seen->raw);
	buf_release(&seen->events);
}

static void feed_piece(struct span piece, void *arg)
{
	struct seen *seen = arg;
	struct error err;

	assert_true(sse_feed(&seen->sse, piece, on_event, seen, &err));
}

/* However the stream is split: these events, and no byte is missing. */
static void check_events(struct span stream, struct span expected)
{
	for (int way = 0; way < FEED_WAYS; way++) {
		struct seen seen;

		seen_init(&seen, 1u << 20);
		feed(stream, way, feed_piece, &seen);
		put(&seen.raw, sse_rest(&seen.sse));
		check_bytes("raw", buf_span(&seen.raw), stream);
		check_bytes("events", buf_span(&seen.events), expected);
		seen_release(&seen);
	}
}

static void check_stream(const char *stream, const char *expected)
{
	check_events(span_of(stream), span_of(expected));
}

static void test_sse__one_line_of_data(void **state UNUSED)
{
	check_stream("data: a\n\n", "|a;");
	check_stream("data:a\n\n", "|a;");
	check_stream("data:  a \n\n", "| a ;");
	check_stream("data: a:b\n\n", "|a:b;");
	check_stream("data: {\"a\":1}\n\ndata: [DONE]\n\n",
		     "|{\"a\":1};|[DONE];");
}

static void test_sse__every_kind_of_line_end(void **state UNUSED)
{
	check_stream("data: a\r\rdata: b\r\r", "|a;|b;");
	check_stream("data: a\r\n\r\ndata: b\r\n\r\n", "|a;|b;");
	check_stream("data: a\n\r\ndata: b\r\n\n", "|a;|b;");
	check_stream("data: a\r\n\rdata: b\r\n\r", "|a;|b;");
	check_stream("data: a\n\rdata: b\r\n\n\n", "|a;|b;");
}

static void test_sse__several_lines_of_data_are_joined(void **state UNUSED)
{
	check_stream("data: a\ndata: b\n\n", "|a/b;");
	check_stream("data\ndata\ndata\n\n", "|//;");
	check_stream("data: a\r\ndata:\r\ndata: c\r\n\r\n", "|a//c;");
	check_stream("data: a\nevent: x\ndata: b\n\n", "x|a/b;");
}

static void test_sse__names_and_other_fields(void **state UNUSED)
{
	check_stream("event: done\ndata: a\n\n", "done|a;");
	check_stream("event: x\nevent: y\ndata: a\n\n", "y|a;");
	check_stream("event: x\n\n", "x-;");
	check_stream("id: 1\nretry: 5\ndata: a\n\n", "|a;");
	check_stream("Data: a\n\n", "");
	check_stream(" data: a\n\n", "");
	check_stream("data : a\n\n", "");
	check_stream("datax\n\n", "");
	check_stream("data\n\n", "|;");
	check_stream("data:\n\n", "|;");
}

static void test_sse__comments_and_blank_lines(void **state UNUSED)
{
	check_stream(": keep-alive\n\ndata: a\n\n", "|a;");
	check_stream(":\n\n:\n\n", "");
	check_stream("\n\n\ndata: a\n\n\n\n", "|a;");
	check_stream("data: a\n: in between\ndata: b\n\n", "|a/b;");
}

static void test_sse__byte_order_mark_only_at_the_start(void **state UNUSED)
{
	check_stream("\xEF\xBB\xBF"
		     "data: a\n\n",
		     "|a;");
	check_stream("\xEF\xBB\xBF\n\ndata: a\n\n", "|a;");
	check_stream("data: a\n\n\xEF\xBB\xBF"
		     "data: b\n\n",
		     "|a;");
	check_stream("\xEF\xBB"
		     "data: a\n\n",
		     "");
}

static void test_sse__bytes_of_all_kinds_in_data(void **state UNUSED)
{
	check_events(SPAN("data: \0\xFF\xE2\x80\xA8\v\f\x85\n\n"),
		     SPAN("|\0\xFF\xE2\x80\xA8\v\f\x85;"));
}

static void test_sse__an_unfinished_event_is_the_rest(void **state UNUSED)
{
	check_stream("data: a\n\ndata: b\n", "|a;");
	check_stream("data: a", "");
	check_stream("", "");
}

static void check_finish(const char *stream, const char *expected)
{
	struct seen seen;
	struct error err;

	seen_init(&seen, 1u << 20);
	feed(span_of(stream), FEED_BYTEWISE, feed_piece, &seen);
	assert_true(sse_finish(&seen.sse, on_event, &seen, &err));
	check_text(buf_span(&seen.events), expected);
	seen_release(&seen);
}

static void test_sse__finish_reports_a_rest_with_a_field(void **state UNUSED)
{
	check_finish("data: a\n\ndata: b\n", "|a;|b;");
	check_finish("data: a\n\ndata: b", "|a;|b;");
	check_finish("data: a\ndata: b\r", "|a/b;");
	check_finish("data: a\n\n", "|a;");
	check_finish("data: a\r\n\r\n", "|a;");
	check_finish("", "");
}

struct kind {
	bool comment_only, data_in_raw;
};

static bool note_kind(const struct sse_event *event, void *arg)
{
	struct kind *kind = arg;

	kind->comment_only = event->comment_only;
	kind->data_in_raw = event->data_in_raw;
	return true;
}

static void check_kind(const char *stream, bool comment_only, bool in_raw)
{
	struct sse_parser sse;
	struct kind kind;
	struct error err;

	sse_init(&sse, 1000);
	assert_true(sse_feed(&sse, span_of(stream), note_kind, &kind, &err));
	assert_int_equal(kind.comment_only, comment_only);
	assert_int_equal(kind.data_in_raw, in_raw);
	sse_release(&sse);
}

static void test_sse__tells_what_an_event_is_made_of(void **state UNUSED)
{
	check_kind(": a\n\n", true, false);
	check_kind(": a\n: b\n\n", true, false);
	check_kind(": a\ndata: b\n\n", false, true);
	check_kind("data: a\ndata: b\n\n", false, false);
	check_kind("retry: 1\n\n", false, false);
	check_kind("\n", false, false);
}

static void test_sse__stops_when_told_to(void **state UNUSED)
{
	struct seen seen;
	struct error err;

	seen_init(&seen, 1000);
	seen.stop_after = 2;
	assert_true(sse_feed(&seen.sse,
			     SPAN("data: a\n\ndata: b\n\ndata: c\n\n"),
			     on_event, &seen, &err));
	check_text(buf_span(&seen.events), "|a;|b;");
	seen_release(&seen);
}

/* An event of `size` bytes in pieces of `piece`, under a limit of 100. */
static void check_limit(size_t size, size_t piece, bool ok)
{
	struct error err = ERROR_INIT;
	struct seen seen;
	char *stream = xmalloc(size);
	bool fed = true;

	memset(stream, 'x', size);
	stream[size - 2] = stream[size - 1] = '\n';
	seen_init(&seen, 101);
	for (size_t at = 0; at < size && fed; at += piece)
		fed = sse_feed(&seen.sse,
			       span_from(stream + at,
					 piece < size - at ? piece : size - at),
			       on_event, &seen, &err);
	assert_int_equal(fed, ok);
	if (!ok)
		check_error(&err, ERROR_TOO_LARGE, "event: more than");
	assert_int_equal(seen.count, ok);
	seen_release(&seen);
	free(stream);
}

static void test_sse__an_event_without_end_is_refused(void **state UNUSED)
{
	check_limit(100, 1, true);
	check_limit(100, 99, true);
	check_limit(101, 1, false);
	check_limit(101, 60, false);
	check_limit(1000, 7, false);
}

static void test_sse__joined_data_obeys_the_limit(void **state UNUSED)
{
	struct error err = ERROR_INIT;
	struct seen seen;

	seen_init(&seen, 8);
	assert_false(sse_feed(&seen.sse, SPAN("data: abcd\ndata: efgh\n\n"),
			      on_event, &seen, &err));
	check_error(&err, ERROR_TOO_LARGE, "limit");
	assert_int_equal(seen.count, 0);
	seen_release(&seen);
}

static void test_sse__writes_an_event(void **state UNUSED)
{
	struct error err = ERROR_INIT;
	struct buf out = test_buf();

	assert_true(sse_write_data(&out, SPAN("[DONE]"), &err));
	check_text(buf_span(&out), "data: [DONE]\n\n");
	buf_release(&out);
	buf_init(&out, 9);
	assert_false(sse_write_data(&out, SPAN("a"), &err));
	check_error(&err, ERROR_TOO_LARGE, "limit");
	buf_release(&out);
}

/* --- The reference: the standard's text, done slowly. ------------------- */

/* Every line end made a line feed, the byte order mark cut. */
static void normalise(struct span stream, struct buf *out)
{
	if (span_starts_with(stream, "\xEF\xBB\xBF"))
		stream = span_after(stream, 3);
	for (size_t i = 0; i < stream.len; i++) {
		char c = stream.data[i];
		bool cr_before = i && stream.data[i - 1] == '\r';

		if (c == '\r' || (c == '\n' && !cr_before))
			put(out, SPAN("\n"));
		else if (c != '\n')
			put(out, span_from(&c, 1));
	}
}

struct reference {
	struct buf name, data;
	bool has_data;
};

static void reference_line(struct reference *r, struct span line)
{
	const char *colon = memchr(line.data, ':', line.len);
	size_t len = colon ? (size_t)(colon - line.data) : line.len;
	struct span field = span_from(line.data, len);
	struct span value = colon ? span_after(line, len + 1) : SPAN_NONE;

	if (value.len && value.data[0] == ' ')
		value = span_after(value, 1);
	if (span_is(field, "event")) {
		buf_clear(&r->name);
		put(&r->name, value);
	} else if (span_is(field, "data")) {
		if (r->has_data)
			put(&r->data, SPAN("\n"));
		r->has_data = true;
		put(&r->data, value);
	}
}

static void reference_events(struct span stream, struct buf *events)
{
	struct reference r = { test_buf(), test_buf(), false };
	struct buf text = test_buf();
	struct span rest;

	normalise(stream, &text);
	rest = buf_span(&text);
	for (const char *end; rest.len; rest = span_after(rest, 1)) {
		struct span line = rest;

		end = memchr(rest.data, '\n', rest.len);
		if (!end)
			break;
		line.len = (size_t)(end - rest.data);
		rest = span_after(rest, line.len);
		if (line.len) {
			reference_line(&r, line);
			continue;
		}
		note(events, buf_span(&r.name), buf_span(&r.data), r.has_data);
		buf_clear(&r.name);
		buf_clear(&r.data);
		r.has_data = false;
	}
	buf_release(&r.name);
	buf_release(&r.data);
	buf_release(&text);
}

static void gen_stream(struct rng *rng, struct buf *out)
{
	static const char *const pieces[] = {
		"data", "data: ",   "data:", "event: ", ": ",   "id: 1",
		"x",    "\n",       "\n",    "\r",      "\r\n", "\n\n",
		"\r\r", "\r\n\r\n", "a b",   ":",       " ",    "\xEF\xBB\xBF",
	};

	if (rng_one_in(rng, 4))
		put(out, SPAN("\xEF\xBB\xBF"));
	for (size_t n = rng_below(rng, 40); n; n--)
		put(out, span_of(RNG_PICK(rng, pieces)));
}

static void test_sse__agrees_with_the_standard_done_slowly(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 1500; seed++) {
		struct rng rng = rng_seeded(seed);
		struct buf stream = test_buf(), events = test_buf();

		gen_stream(&rng, &stream);
		reference_events(buf_span(&stream), &events);
		check_events(buf_span(&stream), buf_span(&events));
		buf_release(&stream);
		buf_release(&events);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sse__one_line_of_data),
		cmocka_unit_test(test_sse__every_kind_of_line_end),
		cmocka_unit_test(test_sse__several_lines_of_data_are_joined),
		cmocka_unit_test(test_sse__names_and_other_fields),
		cmocka_unit_test(test_sse__comments_and_blank_lines),
		cmocka_unit_test(test_sse__byte_order_mark_only_at_the_start),
		cmocka_unit_test(test_sse__bytes_of_all_kinds_in_data),
		cmocka_unit_test(test_sse__an_unfinished_event_is_the_rest),
		cmocka_unit_test(test_sse__finish_reports_a_rest_with_a_field),
		cmocka_unit_test(test_sse__tells_what_an_event_is_made_of),
		cmocka_unit_test(test_sse__stops_when_told_to),
		cmocka_unit_test(test_sse__an_event_without_end_is_refused),
		cmocka_unit_test(test_sse__joined_data_obeys_the_limit),
		cmocka_unit_test(test_sse__writes_an_event),
		cmocka_unit_test(
			test_sse__agrees_with_the_standard_done_slowly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
