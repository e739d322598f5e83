/*
 * The record reader on any bytes: what it accepts can be written and read
 * again, and is the same from then on.
 */
#include "shared/json_scan.h"
#include "shared/turn.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct turn turn, again;
	struct buf once, twice;
	struct error err;

	if (!turn_decode(input_span(data, size), &turn, &err)) {
		MUST(err.kind == ERROR_MALFORMED);
		return 0;
	}
	buf_init(&once, 64u << 20);
	buf_init(&twice, 64u << 20);
	MUST(turn_encode(&turn, &once, &err));
	MUST(json_valid(buf_span(&once)));
	MUST(turn_decode(buf_span(&once), &again, &err));
	/* What is not read back as it was: base64, and texts with escapes. */
	again.request = turn.request;
	again.rollout_id = turn.rollout_id;
	again.session_id = turn.session_id;
	again.parent_session_id = turn.parent_session_id;
	again.dialect = turn.dialect;
	again.abort_reason = turn.abort_reason;
	MUST(turn_encode(&again, &twice, &err));
	MUST(span_equals(buf_span(&once), buf_span(&twice)));
	buf_release(&once);
	buf_release(&twice);
	return 0;
}
