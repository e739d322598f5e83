#ifndef SHARED_SSE_H
#define SHARED_SSE_H

#include <stdbool.h>

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * Server-sent events, both directions.  Source: the HTML standard, section
 * 9.2 (parsing an event stream).
 *
 * The parser cuts a stream into its events and hands out each as it stood, so
 * that whoever passes it on changes nothing.  Feed it bytes as they come; an
 * event that is whole in one feed is borrowed from those bytes, otherwise from
 * the parser.  Events are reported as soon as their blank line is complete.
 *
 * The raw texts of all events, and then sse_rest(), are together exactly the
 * bytes that were fed.
 */
struct sse_event {
	struct span raw;   /* with its blank line, ready to be passed on */
	struct span text;  /* its lines: `raw` without a byte order mark */
	struct span name;  /* of the last `event:` field; empty if none */
	struct span data;  /* the `data:` lines, joined by \n; empty if none */
	bool has_data;     /* there was a `data:` line, maybe an empty one */
	bool data_in_raw;  /* `data` is one line and points into `raw` */
	bool comment_only; /* nothing but comment lines */
};

/* False ends the feed at once: the caller has had enough. */
typedef bool sse_event_fn(const struct sse_event *event, void *arg);

struct sse_parser {
	struct buf pending;  /* an event's beginning, from earlier feeds */
	struct buf joined;   /* data of an event with several data lines */
	bool line_has_bytes; /* the current line is not empty */
	bool after_cr;       /* a line feed now would belong to that CR */
	bool started;        /* the byte order mark can no longer come */
};

/* `event_limit`: the longest event, in bytes. */
void sse_init(struct sse_parser *sse, size_t event_limit);
void sse_release(struct sse_parser *sse);

/* ERROR_TOO_LARGE: an event without end.  The parser is then of no use. */
bool sse_feed(struct sse_parser *sse, struct span bytes, sse_event_fn *on_event,
	      void *arg, struct error *err) MUST_USE;

/*
 * What came after the last whole event.  The standard has readers drop it, but
 * not every server ends its last event with a blank line: sse_finish() reports
 * such a rest as an event when it holds a field.
 */
struct span sse_rest(const struct sse_parser *sse);
bool sse_finish(struct sse_parser *sse, sse_event_fn *on_event, void *arg,
		struct error *err) MUST_USE;

/*
 * The next `data:` line's value; `text` (of an event, at first) moves past that
 * line.  The values, joined by \n, are the event's data.  False: no more.
 */
bool sse_next_data(struct span *text, struct span *value);

/* Add "data: TEXT\n\n"; the text must hold no line break. */
bool sse_write_data(struct buf *out, struct span text,
		    struct error *err) MUST_USE;

#endif
