/*
 * Requests of any bytes under several rules: the forwarded body is JSON if the
 * agent's was, and is the agent's again with the splices taken back.
 */
#include "proxy/rewrite.h"
#include "proxy/splice.h"
#include "shared/json_scan.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/undo.h"

static const struct rewrite_rules rules[] = {
	{ .top_logprobs = 5, .token_ids = TOKEN_IDS_ON },
	{ .top_logprobs = 0, .max_tokens_cap = 100, .disable_thinking = true },
	{ .max_tokens_cap = 1, .model_override = "o3" },
	{ .token_ids = TOKEN_IDS_ON,
	  .model_override = "a\"b\n",
	  .sampling = { "{\"seed\":1,\"temperature\":0.5,\"top_k\":-1}", 40 } },
};

static bool scans(struct span text)
{
	struct json_cursor c;

	json_open(&c, text);
	json_skip(&c);
	return json_close(&c);
}

static void forward(const struct rewrite_rules *rule, struct span body)
{
	struct buf edited, undone;
	struct rewrite rw;
	struct error err;

	buf_init(&edited, 16u << 20);
	buf_init(&undone, 16u << 20);
	if (rewrite_plan(&rw, rule, body, &err)) {
		MUST(splice_apply(&rw.splices, body, &edited, &err));
		MUST(scans(buf_span(&edited)) == scans(body));
		MUST(json_valid(buf_span(&rw.sampling)) || !json_valid(body));
		MUST(undo_splices(&rw.splices, body, buf_span(&edited),
				  &undone));
		MUST(span_equals(buf_span(&undone), body));
		MUST(rw.stream == rewrite_is_stream(body));
	} else {
		MUST(err.kind == ERROR_MALFORMED);
		MUST(!json_valid(body) || body.data[0] != '{');
	}
	rewrite_release(&rw);
	buf_release(&edited);
	buf_release(&undone);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++)
		forward(&rules[i], input_span(data, size));
	return 0;
}
