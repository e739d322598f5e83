/*
 * Event streams of any bytes, split by lengths taken from the first of them:
 * the raw texts and the rest are the stream, and the data do not depend on the
 * splits.
 */
#include "shared/buf.h"
#include "shared/sse.h"
#include "tests/fuzz/fuzz.h"

#define SPLITS 8

struct seen {
	struct buf raw, data;
};

/* The lines of data, one by one, are the data. */
static void check_lines(const struct sse_event *event)
{
	struct span text = event->text, left = event->data, value;

	for (bool more = false; sse_next_data(&text, &value); more = true) {
		MUST(event->has_data);
		MUST(!more || span_starts_with(left, "\n"));
		left = span_after(left, more);
		MUST(left.len >= value.len &&
		     span_equals(span_from(left.data, value.len), value));
		left = span_after(left, value.len);
	}
	MUST(!left.len);
}

static bool on_event(const struct sse_event *event, void *arg)
{
	struct seen *seen = arg;
	struct error err;

	check_lines(event);
	MUST(buf_add(&seen->raw, event->raw, &err));
	if (event->has_data)
		MUST(buf_add(&seen->data, event->name, &err) &&
		     buf_add(&seen->data, SPAN("|"), &err) &&
		     buf_add(&seen->data, event->data, &err) &&
		     buf_add(&seen->data, SPAN(";"), &err));
	if (event->data_in_raw)
		MUST(event->data.data >= event->raw.data &&
		     event->data.data + event->data.len <=
			     event->raw.data + event->raw.len);
	return true;
}

/* `lengths`: SPLITS bytes, used over and over; NULL: all at once. */
static void parse(struct span stream, const uint8_t *lengths, struct seen *seen)
{
	struct span left = stream;
	struct sse_parser sse;
	struct error err;

	buf_init(&seen->raw, 16u << 20);
	buf_init(&seen->data, 16u << 20);
	sse_init(&sse, 8u << 20);
	for (size_t i = 0; left.len; i++) {
		size_t len = lengths ? lengths[i % SPLITS] + 1u : left.len;

		len = len < left.len ? len : left.len;
		MUST(sse_feed(&sse, span_from(left.data, len), on_event, seen,
			      &err));
		left = span_after(left, len);
	}
	MUST(buf_add(&seen->raw, sse_rest(&sse), &err));
	MUST(span_equals(buf_span(&seen->raw), stream));
	MUST(sse_finish(&sse, on_event, seen, &err));
	sse_release(&sse);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen whole, split;
	struct span stream;

	if (size < SPLITS)
		return 0;
	stream = input_span(data + SPLITS, size - SPLITS);
	parse(stream, NULL, &whole);
	parse(stream, data, &split);
	MUST(span_equals(buf_span(&whole.data), buf_span(&split.data)));
	buf_release(&whole.raw);
	buf_release(&whole.data);
	buf_release(&split.raw);
	buf_release(&split.data);
	return 0;
}
