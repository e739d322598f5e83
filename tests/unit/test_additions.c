/* What a refusal is about, and what is remembered of it. */
#include "proxy/additions.h"

#include <stdio.h>

#include "tests/unit/vectors.h"

#define BIT(addition) (1u << ADDITION_##addition)

static const unsigned usual = BIT(TOP_LOGPROBS) | BIT(LOGPROBS) |
			      BIT(LOGPROBS_WITH_TOOLS) | BIT(TOKEN_IDS) |
			      BIT(TOKEN_IDS_OF_STREAM) | BIT(USAGE);

static void check_status(unsigned status, const char *body, unsigned added,
			 enum addition expected)
{
	enum addition got = addition_refused(status, span_of(body), added);

	if (got != expected)
		fail_msg("%u %s: %d, expected %d", status, body, (int)got,
			 (int)expected);
}

static void check_refused(const char *body, unsigned added,
			  enum addition expected)
{
	check_status(400, body, added, expected);
	check_status(422, body, added, expected);
}

static void test_additions__servers_own_words(void **state UNUSED)
{
	/* OpenAI */
	check_refused("{\"error\":{\"message\":\"Unsupported parameter: "
		      "'logprobs' is not supported with this model.\","
		      "\"type\":\"invalid_request_error\",\"param\":"
		      "\"logprobs\",\"code\":\"unsupported_parameter\"}}",
		      usual, ADDITION_LOGPROBS);
	/* vLLM */
	check_refused("{\"error\":{\"message\":\"Requested sample logprobs of "
		      "25, which is greater than max allowed: 20\","
		      "\"type\":\"BadRequestError\",\"param\":null}}",
		      usual, ADDITION_TOP_LOGPROBS);
	check_refused("{\"object\":\"error\",\"message\":\"[{'type': "
		      "'extra_forbidden', 'loc': ('body', "
		      "'return_token_ids'), 'msg': 'Extra inputs are not "
		      "permitted', 'input': True}]\",\"code\":400}",
		      usual, ADDITION_TOKEN_IDS);
	/* SGLang */
	check_refused("{\"object\":\"error\",\"message\":\"return_token_ids "
		      "is not supported with streaming on "
		      "/v1/chat/completions. Please set stream=false\"}",
		      usual, ADDITION_TOKEN_IDS_OF_STREAM);
	/* llama.cpp */
	check_refused("{\"error\":{\"code\":400,\"message\":\"logprobs is not "
		      "supported with tools + stream\"}}",
		      usual, ADDITION_LOGPROBS_WITH_TOOLS);
	/* FastAPI's 422 */
	check_refused("{\"detail\":[{\"loc\":[\"body\",\"stream_options\"],"
		      "\"msg\":\"extra fields not permitted\"}]}",
		      usual, ADDITION_USAGE);
}

#define PRESENCE_PENALTY (ADDITION_SAMPLING + 4)

/* What servers and gateways say, as their users report it. */
static void test_additions__words_for_other_names(void **state UNUSED)
{
	const unsigned all = usual | BIT(THINKING);

	/* Google, at two of its doors */
	check_refused("[{\"error\":{\"code\":400,\"message\":\"Logprobs is not "
		      "enabled for models/gemini-2.5-pro\",\"status\":"
		      "\"INVALID_ARGUMENT\"}}]",
		      all, ADDITION_LOGPROBS);
	check_refused("Invalid JSON payload received. Unknown name "
		      "\"return_token_ids\": Cannot find field.",
		      all, ADDITION_TOKEN_IDS);
	/* TGI */
	check_refused(
		"{\"error\":\"Input validation error: `top_n_tokens` must "
		"be >= 0 and <= 5. Given: 20\",\"error_type\":"
		"\"validation\"}",
		all, ADDITION_TOP_LOGPROBS);
	/* SGLang */
	check_refused(
		"{\"object\":\"error\",\"message\":\"top_logprobs_num must "
		"be in [0, 32000]\"}",
		all, ADDITION_TOP_LOGPROBS);
	check_refused("{\"object\":\"error\",\"message\":\"DFLASH speculative "
		      "decoding does not support return_logprob yet.\"}",
		      all, ADDITION_LOGPROBS);
	/* vLLM */
	check_refused(
		"{\"error\":{\"message\":\"chat_template is not supported "
		"for Mistral tokenizers.\",\"param\":null}}",
		all, ADDITION_THINKING);
	check_refused(
		"{\"error\":{\"message\":\"Gaudi doesn't support logprobs. "
		"Please remove 'logprobs'/'top_logprobs' from your "
		"request to receive a response.\",\"param\":null}}",
		all & ~BIT(TOP_LOGPROBS), ADDITION_LOGPROBS);
	/* Groq, Fireworks, Azure, LiteLLM, gateways */
	check_refused("property 'stream_options' is unsupported, did you mean "
		      "'stream'?",
		      all, ADDITION_USAGE);
	check_refused("Extra inputs are not permitted, field: "
		      "'return_token_ids'",
		      all, ADDITION_TOKEN_IDS);
	check_refused("Validation error at #/stream_options: Extra inputs are "
		      "not permitted",
		      all, ADDITION_USAGE);
	check_refused("litellm.UnsupportedParamsError: hosted_vllm does not "
		      "support parameters: ['logprobs'], for model=x",
		      all, ADDITION_LOGPROBS);
	check_refused("{\"error\":{\"message\":\"Log probabilities are not "
		      "supported by this model\"}}",
		      all, ADDITION_LOGPROBS);
	check_refused("Temperature must be 1", BIT(SAMPLING),
		      ADDITION_SAMPLING);
	/* OpenAI and older vLLM; SGLang: a limit beside a long prompt */
	check_refused("This model's maximum context length is 8192 tokens. "
		      "However, you requested 9192 tokens (8192 in the "
		      "messages, 1000 in the completion).",
		      all | BIT(MAX_TOKENS), ADDITION_MAX_TOKENS);
	check_refused("Requested token count exceeds the model's maximum "
		      "context length of 8192 tokens. You requested a total of "
		      "9000 tokens: 8000 tokens from the input messages and "
		      "1000 tokens for the completion.",
		      all | BIT(MAX_COMPLETION_TOKENS),
		      ADDITION_MAX_COMPLETION_TOKENS);
	check_refused("(8192 in the messages, 1000 in the completion)", all,
		      ADDITION_NONE);
	/* xAI */
	check_refused("{\"code\":\"Client specified an invalid argument\","
		      "\"error\":\"Argument not supported on this model: "
		      "presencePenalty\"}",
		      all | 1u << PRESENCE_PENALTY, PRESENCE_PENALTY);
	check_refused("Model grok-4 does not support parameter topLogprobs.",
		      all, ADDITION_TOP_LOGPROBS);
}

static void test_additions__statuses_that_refuse(void **state UNUSED)
{
	static const char openai[] =
		"{\"error\":{\"message\":\"You are not allowed to request "
		"logprobs from this model\",\"type\":\"invalid_request_error\","
		"\"param\":null,\"code\":null}}";
	static const char llamacpp[] =
		"{\"error\":{\"code\":500,\"message\":\"logprobs is not "
		"supported with tools + stream\"}}";

	check_status(403, openai, usual, ADDITION_LOGPROBS);
	check_status(500, openai, usual, ADDITION_NONE);
	check_status(429, openai, usual, ADDITION_NONE);
	check_status(500, llamacpp, usual, ADDITION_LOGPROBS_WITH_TOOLS);
	check_status(503, llamacpp, usual, ADDITION_NONE);
	check_status(404, llamacpp, usual, ADDITION_NONE);
}

static void test_additions__only_what_was_added(void **state UNUSED)
{
	check_refused("logprobs", 0, ADDITION_NONE);
	check_refused("logprobs", BIT(TOP_LOGPROBS), ADDITION_NONE);
	check_refused("bad temperature", usual, ADDITION_NONE);
	check_refused("bad temperature", BIT(SAMPLING), ADDITION_SAMPLING);
	check_refused("messages: too long", usual, ADDITION_NONE);
	check_refused("", usual, ADDITION_NONE);
}

static void test_additions__as_a_word(void **state UNUSED)
{
	check_refused("no top_logprobs", BIT(LOGPROBS), ADDITION_NONE);
	check_refused("logprobs_x, mylogprobs", BIT(LOGPROBS), ADDITION_NONE);
	check_refused("logprobs", BIT(LOGPROBS), ADDITION_LOGPROBS);
	check_refused("top_logprobs 'logprobs'", BIT(LOGPROBS),
		      ADDITION_LOGPROBS);
	check_refused("logprob", BIT(LOGPROBS), ADDITION_NONE);
	check_refused("topLogprobs_x, aTopLogprobs", BIT(TOP_LOGPROBS),
		      ADDITION_NONE);
	check_refused("top_logprob", BIT(TOP_LOGPROBS), ADDITION_NONE);
}

static void test_additions__names_once(void **state UNUSED)
{
	struct buf out = test_buf();
	struct json_writer jw;
	struct error err;

	jw_init(&jw, &out);
	additions_write(&jw, BIT(LOGPROBS) | BIT(LOGPROBS_WITH_TOOLS) |
				     BIT(TOKEN_IDS_OF_STREAM) |
				     1u << (ADDITION_COUNT - 1));
	assert_true(jw_finish(&jw, &err));
	check_text(buf_span(&out),
		   "[\"logprobs\",\"return_token_ids\",\"seed\"]");
	buf_release(&out);
}

static void test_additions__remembered_by_model(void **state UNUSED)
{
	struct refusals refusals = { 0 };

	assert_int_equal(refusals_of(&refusals, SPAN("\"a\"")), 0);
	refusals_add(&refusals, SPAN("\"a\""), ADDITION_USAGE);
	refusals_add(&refusals, SPAN("\"a\""), ADDITION_LOGPROBS);
	refusals_add(&refusals, SPAN(""), ADDITION_THINKING);
	assert_int_equal(refusals_of(&refusals, SPAN("\"a\"")),
			 BIT(USAGE) | BIT(LOGPROBS));
	assert_int_equal(refusals_of(&refusals, SPAN("\"b\"")), 0);
	assert_int_equal(refusals_of(&refusals, SPAN("")), BIT(THINKING));
	refusals_forget(&refusals, SPAN("\"a\""), BIT(USAGE) | BIT(THINKING));
	assert_int_equal(refusals_of(&refusals, SPAN("\"a\"")), BIT(LOGPROBS));
	refusals_forget(&refusals, SPAN("\"b\""), BIT(LOGPROBS));
	assert_int_equal(refusals_of(&refusals, SPAN("\"b\"")), 0);
	refusals_release(&refusals);
}

static void test_additions__many_models_are_bounded(void **state UNUSED)
{
	struct refusals refusals = { 0 };
	char model[16];

	for (unsigned i = 0; i < 10 * REFUSALS_MODELS; i++) {
		snprintf(model, sizeof(model), "\"m%u\"", i);
		refusals_add(&refusals, span_of(model), ADDITION_USAGE);
		assert_int_equal(refusals_of(&refusals, span_of(model)),
				 BIT(USAGE));
	}
	assert_int_equal(refusals_of(&refusals, SPAN("\"m0\"")), 0);
	refusals_release(&refusals);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_additions__servers_own_words),
		cmocka_unit_test(test_additions__words_for_other_names),
		cmocka_unit_test(test_additions__statuses_that_refuse),
		cmocka_unit_test(test_additions__only_what_was_added),
		cmocka_unit_test(test_additions__as_a_word),
		cmocka_unit_test(test_additions__names_once),
		cmocka_unit_test(test_additions__remembered_by_model),
		cmocka_unit_test(test_additions__many_models_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
