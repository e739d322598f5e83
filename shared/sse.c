/*
 * The event-stream parser.  It looks at each byte once, only for line ends: an
 * event ends at the first empty line.  Fields are read when the event is whole.
 *
 * A line may end in CR, LF or CR LF.  An event that ends in CR is reported
 * without waiting to see whether an LF follows; the LF then becomes the first
 * byte of the next event's raw text, where readers ignore it.
 */
#include "shared/sse.h"

#include <string.h>

void sse_init(struct sse_parser *sse, size_t event_limit)
{
	*sse = (struct sse_parser){ 0 };
	buf_init(&sse->pending, event_limit);
	buf_init(&sse->joined, event_limit);
}

void sse_release(struct sse_parser *sse)
{
	buf_release(&sse->pending);
	buf_release(&sse->joined);
}

/* One line without its end; `text` moves past it. */
static struct span take_line(struct span *text)
{
	struct span line = *text;
	size_t end = span_line_length(line);

	line.len = end;
	if (end < text->len)
		end += text->data[end] == '\r' && end + 1 < text->len &&
				       text->data[end + 1] == '\n'
			       ? 2
			       : 1;
	*text = span_after(*text, end);
	return line;
}

/* "name: value" with at most one space cut; a comment has an empty name. */
static void split_field(struct span line, struct span *name, struct span *value)
{
	const char *colon = memchr(line.data, ':', line.len);

	if (!colon) {
		*name = line;
		*value = span_after(line, line.len);
		return;
	}
	*name = span_from(line.data, (size_t)(colon - line.data));
	*value = span_after(line, name->len + 1);
	if (value->len && value->data[0] == ' ')
		*value = span_after(*value, 1);
}

static bool add_data(struct sse_parser *sse, struct sse_event *event,
		     struct span value, struct error *err)
{
	if (!event->has_data) {
		event->has_data = event->data_in_raw = true;
		event->data = value;
		return true;
	}
	if (event->data_in_raw) {
		event->data_in_raw = false;
		buf_clear(&sse->joined);
		if (!buf_add(&sse->joined, event->data, err))
			return false;
	}
	if (!buf_add(&sse->joined, SPAN("\n"), err) ||
	    !buf_add(&sse->joined, value, err))
		return false;
	event->data = buf_span(&sse->joined);
	return true;
}

static bool read_fields(struct sse_parser *sse, struct sse_event *event,
			struct error *err)
{
	struct span text;
	bool comment = false, field = false;

	if (!sse->started && span_starts_with(event->text, "\xEF\xBB\xBF"))
		event->text = span_after(event->text, 3);
	sse->started = true;
	text = event->text;
	while (text.len) {
		struct span line = take_line(&text);
		struct span name, value;

		if (!line.len)
			continue;
		split_field(line, &name, &value);
		comment |= !name.len;
		field |= name.len > 0;
		if (span_is(name, "event"))
			event->name = value;
		else if (span_is(name, "data") &&
			 !add_data(sse, event, value, err))
			return false;
	}
	event->comment_only = comment && !field;
	return true;
}

static bool report(struct sse_parser *sse, struct span raw,
		   sse_event_fn *on_event, void *arg, bool *go_on,
		   struct error *err)
{
	struct sse_event event = { .raw = raw, .text = raw };

	if (!read_fields(sse, &event, err))
		return false;
	*go_on = on_event(&event, arg);
	return true;
}

/*
 * Look for the end of the event in `bytes`: the number of bytes up to and with
 * it, or 0 when it is not in there.
 */
static size_t find_event_end(struct sse_parser *sse, struct span bytes)
{
	for (size_t i = 0; i < bytes.len; i++) {
		char c = bytes.data[i];

		if (c == '\n' && sse->after_cr) {
			sse->after_cr = false;
			continue;
		}
		sse->after_cr = c == '\r';
		if (c != '\n' && c != '\r') {
			sse->line_has_bytes = true;
			i += span_line_length(span_after(bytes, i)) - 1;
			continue;
		}
		if (sse->line_has_bytes) {
			sse->line_has_bytes = false;
			continue;
		}
		if (c == '\r' && i + 1 < bytes.len &&
		    bytes.data[i + 1] == '\n') {
			sse->after_cr = false;
			i++;
		}
		return i + 1;
	}
	return 0;
}

bool sse_feed(struct sse_parser *sse, struct span bytes, sse_event_fn *on_event,
	      void *arg, struct error *err)
{
	bool go_on = true;

	while (bytes.len && go_on) {
		size_t len = find_event_end(sse, bytes);
		struct span raw = span_from(bytes.data, len);

		if (!len)
			return buf_add(&sse->pending, bytes, err) ||
			       error_wrap(err, "event");
		if (sse->pending.len) {
			if (!buf_add(&sse->pending, raw, err))
				return error_wrap(err, "event");
			raw = buf_span(&sse->pending);
		}
		if (!report(sse, raw, on_event, arg, &go_on, err))
			return false;
		buf_clear(&sse->pending);
		bytes = span_after(bytes, len);
	}
	return true;
}

struct span sse_rest(const struct sse_parser *sse)
{
	return buf_span(&sse->pending);
}

bool sse_finish(struct sse_parser *sse, sse_event_fn *on_event, void *arg,
		struct error *err)
{
	struct span rest = sse_rest(sse);
	bool go_on;

	if (!span_trim(rest).len)
		return true;
	return report(sse, rest, on_event, arg, &go_on, err);
}

bool sse_next_data(struct span *text, struct span *value)
{
	while (text->len) {
		struct span line = take_line(text);
		struct span name;

		split_field(line, &name, value);
		if (span_is(name, "data"))
			return true;
	}
	return false;
}

bool sse_write_data(struct buf *out, struct span text, struct error *err)
{
	return buf_add(out, SPAN("data: "), err) && buf_add(out, text, err) &&
	       buf_add(out, SPAN("\n\n"), err);
}
