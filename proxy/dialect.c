/* The table of dialects, and the signs they are told by. */
#include "proxy/dialect.h"

#include <string.h>

#include "shared/compiler.h"
#include "shared/json_scan.h"
#include "shared/json_text.h"

const struct dialect dialect_plain = {
	.name = "plain",
	.logprobs_mode = "unknown",
	.choice_ids = { { "token_ids", false } },
	.root_ids = { { "prompt_token_ids", false } },
	.usage_null_asked = true,
};

static const struct dialect dialect_openai = {
	.name = "openai",
	.logprobs_mode = "unknown",
	.logprobs = { "logprobs", true },
	.usage_null_asked = true,
};

static const struct dialect dialect_vllm = {
	.name = "vllm",
	.asks_token_ids = true,
	/* raw by default, processed with --logprobs-mode: not to be seen */
	.logprobs_mode = "unknown",
	.logprobs = { "logprobs", true },
	.choice_ids = { { "token_ids", true } },
	.root_ids = { { "prompt_token_ids", true } },
	.moved_member = "system_fingerprint",
	.moved_after_choices = true,
};

static const struct dialect dialect_sglang = {
	.name = "sglang",
	.asks_token_ids = true,
	.ids_in_sglext = true,
	/* after the temperature: sampler.py */
	.logprobs_mode = "processed",
	.logprobs = { "logprobs", true },
	.choice_ids = { { "prompt_token_ids", false },
			{ "response_token_ids", false },
			{ "token_ids", false } },
	.idle_delta_member = "reasoning_content",
};

static const struct dialect dialect_llamacpp = {
	.name = "llamacpp",
	.n_probs_for_tools = true,
	/* before sampling, but with post_sampling_probs, which octap never asks */
	.logprobs_mode = "raw",
	.logprobs = { "logprobs", false },
	.moved_member = "timings",
};

static const struct {
	const struct dialect *dialect;
	const char *owner; /* NULL: its list of models does not tell */
} known[] = {
	{ &dialect_openai, "openai" },
	{ &dialect_openai, "system" },
	{ &dialect_openai, "openai-internal" },
	{ &dialect_vllm, "vllm" },
	{ &dialect_sglang, "sglang" },
	{ &dialect_llamacpp, "llamacpp" },
	{ &dialect_plain, NULL },
};

const struct dialect *dialect_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (!strcmp(known[i].dialect->name, name))
			return known[i].dialect;
	return NULL;
}

const struct dialect *dialect_by_owner(struct span owner)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].owner && span_is(owner, known[i].owner))
			return known[i].dialect;
	return NULL;
}

/* Members of the outermost object that only one server prints. */
static const struct {
	const char *name;
	const struct dialect *dialect;
} root_signs[] = {
	{ "kv_transfer_params", &dialect_vllm },
	{ "prompt_token_ids", &dialect_vllm },
	{ "prompt_logprobs", &dialect_vllm },
	{ "service_tier", &dialect_openai },
	{ "obfuscation", &dialect_openai },
	{ "timings", &dialect_llamacpp },
};

/* The same of a choice. */
static const struct {
	const char *name;
	const struct dialect *dialect;
} choice_signs[] = {
	{ "matched_stop", &dialect_sglang },
	{ "token_ids", &dialect_vllm },
};

static const struct dialect *sign_of_choice(struct json_cursor *c)
{
	const struct dialect *found = NULL;
	struct span key;

	json_enter_object(c);
	while (json_next_key(c, &key)) {
		for (size_t i = 0; i < ARRAY_LEN(choice_signs); i++)
			if (!found && json_key_is(key, choice_signs[i].name))
				found = choice_signs[i].dialect;
		json_skip(c);
	}
	return found;
}

/* SGLang prints token_ids too, but matched_stop before it. */
static const struct dialect *sign_of_choices(struct json_cursor *c)
{
	const struct dialect *found = NULL;

	if (json_peek(c) != JSON_ARRAY) {
		json_skip(c);
		return NULL;
	}
	json_enter_array(c);
	while (json_next_item(c)) {
		if (found || json_peek(c) != JSON_OBJECT)
			json_skip(c);
		else
			found = sign_of_choice(c);
	}
	return found;
}

static const struct dialect *sign_of_root(struct span key)
{
	for (size_t i = 0; i < ARRAY_LEN(root_signs); i++)
		if (json_key_is(key, root_signs[i].name))
			return root_signs[i].dialect;
	return NULL;
}

const struct dialect *dialect_of_answer(struct span object)
{
	const struct dialect *by_choice = NULL, *by_root = NULL;
	struct json_cursor c;
	bool first = true;
	struct span key;

	json_open(&c, object);
	json_enter_object(&c);
	for (; json_next_key(&c, &key); first = false) {
		if (json_key_is(key, "choices")) {
			/* No other server begins with it. */
			if (first)
				by_root = &dialect_llamacpp;
			by_choice = sign_of_choices(&c);
			continue;
		}
		if (!by_root)
			by_root = sign_of_root(key);
		json_skip(&c);
	}
	if (!json_close(&c))
		return &dialect_plain;
	if (by_choice)
		return by_choice;
	return by_root ? by_root : &dialect_plain;
}
