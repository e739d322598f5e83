/*
 * Answers of any bytes as a stream: every event is one line of JSON, and put
 * together again they end as the answer did.
 */
#include <string.h>

#include "proxy/answer.h"
#include "proxy/restream.h"
#include "shared/json_scan.h"
#include "tests/fuzz/fuzz.h"

struct seen {
	struct assembler assembler;
	bool done;
};

static bool on_event(const struct sse_event *event, void *arg)
{
	struct seen *seen = arg;
	struct error err;

	MUST(event->has_data &&
	     !memchr(event->data.data, '\n', event->data.len));
	seen->done = span_is(event->data, "[DONE]");
	if (seen->done)
		return true;
	MUST(json_valid(event->data));
	MUST(assemble_event(&seen->assembler, event->data, 1, &err));
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span whole = input_span(data, size);
	struct assembler before;
	struct sse_parser sse;
	struct seen seen = { 0 };
	struct error err;
	struct buf stream;

	buf_init(&stream, 16u << 20);
	assemble_init(&before, 0);
	assemble_init(&seen.assembler, 0);
	sse_init(&sse, 8u << 20);
	if (json_valid(whole) && assemble_response(&before, whole, &err) &&
	    restream(whole, true, &stream, &err)) {
		MUST(sse_feed(&sse, buf_span(&stream), on_event, &seen, &err));
		MUST(seen.done && !sse_rest(&sse).len);
		if (assemble_is_finished(&before))
			MUST(assemble_is_finished(&seen.assembler));
	}
	sse_release(&sse);
	assemble_release(&before);
	assemble_release(&seen.assembler);
	buf_release(&stream);
	return 0;
}
