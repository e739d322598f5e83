/*
 * Requests of any bytes, split by lengths taken from the first of them: what is
 * found in them, and what is refused, does not depend on the splits.
 */
#include "shared/request_framing.h"
#include "tests/fuzz/fuzz.h"

#define SPLITS 8

/* `lengths`: SPLITS bytes, used over and over; NULL: all at once. */
static void feed(struct request_framing *f, struct span left,
		 const uint8_t *lengths)
{
	struct error err;

	request_framing_init(f);
	for (size_t i = 0; left.len; i++) {
		size_t len = lengths ? lengths[i % SPLITS] + 1u : left.len;

		len = len < left.len ? len : left.len;
		if (!request_framing_feed(f, span_from(left.data, len), &err)) {
			MUST(f->fault == 400 || f->fault == 413 ||
			     f->fault == 417 || f->fault == 431 ||
			     f->fault == 501);
			return;
		}
		MUST(!f->fault);
		left = span_after(left, len);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct request_framing whole, split;
	struct span requests;

	if (size < SPLITS)
		return 0;
	requests = input_span(data + SPLITS, size - SPLITS);
	feed(&whole, requests, NULL);
	feed(&split, requests, data);
	MUST(whole.fault == split.fault);
	MUST(whole.requests == split.requests);
	MUST(request_framing_in_request(&whole) ==
	     request_framing_in_request(&split));
	return 0;
}
