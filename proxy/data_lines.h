#ifndef PROXY_DATA_LINES_H
#define PROXY_DATA_LINES_H

#include <stddef.h>

#include "proxy/splice.h"
#include "shared/sse.h"

/*
 * An event whose data are several lines, which JSON allows: what is found in
 * the joined data, as a place in the event's raw text, where other lines may
 * stand between them.
 */

/*
 * Edits to `event->data` as edits to `event->raw`; both lists are the caller's.
 * A line break that is cut takes the next line's field name with it; where
 * another field or a comment stands in between it is left, which is white space
 * to JSON.
 */
void data_lines_splices(const struct sse_event *event,
			const struct splice_list *data,
			struct splice_list *raw);

/* An offset in `event->data`, where no line ends, as one in `event->raw`. */
size_t data_lines_offset(const struct sse_event *event, size_t at);

#endif
