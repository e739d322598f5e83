/*
 * Answers of any bytes, whole or as a stream cut in two, with what the proxy
 * added told by the first byte: what is recorded is a line of JSON that is read
 * back, and what the agent gets does not depend on the cut.
 */
#include <string.h>

#include "proxy/answer.h"
#include "shared/json_scan.h"
#include "tests/fuzz/fuzz.h"

#define WHOLE 0x08u

static void record(struct assembler *assembler)
{
	struct turn turn = { .request = SPAN("{}") }, decoded;
	struct error err;
	struct buf line;

	buf_init(&line, 64u << 20);
	MUST(assemble_finish(assembler, &turn, &err));
	MUST(turn_encode(&turn, &line, &err));
	MUST(!memchr(line.data, '\n', line.len));
	MUST(json_valid(buf_span(&line)));
	MUST(turn_decode(buf_span(&line), &decoded, &err));
	MUST(decoded.token_status == turn.token_status);
	buf_release(&line);
}

static bool feed(struct answer *answer, struct span stream, size_t cut)
{
	struct error err;

	return answer_feed(answer, span_from(stream.data, cut), 1000, &err) &&
	       answer_feed(answer, span_after(stream, cut), 2000000, &err) &&
	       answer_finish(answer, 2000000, &err);
}

/* All that the agent gets. */
static void to_agent(const struct answer *answer, struct buf *all)
{
	struct error err;

	MUST(buf_add(all, buf_span(&answer->out), &err));
	MUST(buf_add(all, buf_span(&answer->held), &err));
}

/* `flags` >> 4: in how many 16ths of it the stream is cut. */
static bool feed_cut(struct answer *answer, const struct rewrite *rewrite,
		     struct span stream, unsigned flags)
{
	struct answer in_one;
	struct buf got, expected;
	bool ok = feed(answer, stream, stream.len * (flags >> 4) / 16);

	answer_init(&in_one, rewrite, 0);
	MUST(feed(&in_one, stream, 0) == ok);
	buf_init(&got, 64u << 20);
	buf_init(&expected, 64u << 20);
	to_agent(answer, &got);
	to_agent(&in_one, &expected);
	MUST(!ok || span_equals(buf_span(&got), buf_span(&expected)));
	buf_release(&got);
	buf_release(&expected);
	answer_release(&in_one);
	return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned flags = size ? data[0] : 0;
	const struct rewrite rewrite = {
		.added_logprobs = flags & 1u,
		.added_token_ids = flags & 2u,
		.added_usage = flags & 4u,
	};
	struct answer answer;
	struct error err;
	struct span text;

	if (!size)
		return 0;
	text = input_span(data + 1, size - 1);
	answer_init(&answer, &rewrite, 0);
	if (flags & WHOLE ? answer_whole(&answer, text, &err)
			  : feed_cut(&answer, &rewrite, text, flags))
		record(&answer.assembler);
	answer_release(&answer);
	return 0;
}
