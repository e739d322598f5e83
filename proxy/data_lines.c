/* From joined data back to the lines they were. */
#include "proxy/data_lines.h"

/* One data line: its value's places in both texts. */
struct line {
	struct span value;
	size_t data_at, raw_at;
};

/* A walk over them. */
struct walk {
	const struct sse_event *event;
	struct span rest; /* of the event's text */
	struct line line, before;
	bool begun;
};

static void walk_begin(struct walk *w, const struct sse_event *event)
{
	*w = (struct walk){ .event = event, .rest = event->text };
}

static bool walk_next(struct walk *w)
{
	struct span value;

	if (!sse_next_data(&w->rest, &value))
		return false;
	w->before = w->line;
	w->line = (struct line){
		.value = value,
		.data_at = w->begun
				   ? w->before.data_at + w->before.value.len + 1
				   : 0,
		.raw_at = (size_t)(value.data - w->event->raw.data),
	};
	w->begun = true;
	return true;
}

static size_t end_of(const struct splice *s)
{
	return s->at + s->cut;
}

/* The line break before this line and its field name, if nothing else. */
static void cut_break(const struct walk *w, struct splice_list *raw)
{
	size_t from = w->before.raw_at + w->before.value.len;
	struct span between =
		span_from(w->event->raw.data + from, w->line.raw_at - from);
	struct span name = span_after(
		between,
		between.data[0] == '\r' && between.data[1] == '\n' ? 2 : 1);

	if (span_line_length(name) == name.len)
		splice_remove(raw, from, between.len);
}

/* What the edit does to this line, where it reaches it. */
static void splice_line(const struct walk *w, const struct splice *s,
			struct splice_list *raw)
{
	size_t start = w->line.data_at, end = start + w->line.value.len;
	size_t from = s->at > start ? s->at : start;
	size_t to = end_of(s) < end ? end_of(s) : end;

	if (s->at < start && end_of(s) >= start)
		cut_break(w, raw);
	if (from <= to)
		splice_replace(raw, w->line.raw_at + from - start, to - from,
			       s->at >= start ? s->text : SPAN_NONE);
}

void data_lines_splices(const struct sse_event *event,
			const struct splice_list *data, struct splice_list *raw)
{
	struct walk w;
	size_t i = 0;

	walk_begin(&w, event);
	while (i < data->count && walk_next(&w)) {
		size_t end = w.line.data_at + w.line.value.len;

		/* One that goes on behind the line is met there again. */
		for (; i < data->count && data->items[i].at <= end; i++) {
			splice_line(&w, &data->items[i], raw);
			if (end_of(&data->items[i]) > end)
				break;
		}
	}
}

size_t data_lines_offset(const struct sse_event *event, size_t at)
{
	struct walk w;

	walk_begin(&w, event);
	while (walk_next(&w))
		if (at <= w.line.data_at + w.line.value.len)
			break;
	return w.line.raw_at + at - w.line.data_at;
}
