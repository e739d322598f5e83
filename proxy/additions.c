/* Names of what we add, found again in a server's refusal. */
#include "proxy/additions.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "shared/json_scan.h"
#include "shared/json_text.h"
#include "shared/mem.h"

static const char *const names[ADDITION_SAMPLING] = {
	[ADDITION_TOP_LOGPROBS] = "top_logprobs",
	[ADDITION_LOGPROBS] = "logprobs",
	[ADDITION_LOGPROBS_WITH_TOOLS] = "logprobs",
	[ADDITION_N_PROBS] = "n_probs",
	[ADDITION_TOKEN_IDS] = "return_token_ids",
	[ADDITION_TOKEN_IDS_OF_STREAM] = "return_token_ids",
	[ADDITION_SGLEXT] = "return_output_ids_in_sglext",
	[ADDITION_USAGE] = "stream_options",
	[ADDITION_THINKING] = "chat_template_kwargs",
	[ADDITION_MAX_TOKENS] = "max_tokens",
	[ADDITION_MAX_COMPLETION_TOKENS] = "max_completion_tokens",
};

/*
 * Refusals that do not name the member, or name another (mostly what the server
 * calls it inside), or hold only in a certain kind of request.
 */
static const struct {
	const char *text;
	enum addition addition;
} phrases[] = {
	/* llama.cpp, tools/server; older ones with status 500 */
	{ "logprobs is not supported with tools + stream",
	  ADDITION_LOGPROBS_WITH_TOOLS },
	/* SGLang, serving_chat.py */
	{ "return_token_ids is not supported with streaming",
	  ADDITION_TOKEN_IDS_OF_STREAM },
	/* vLLM, above --max-logprobs */
	{ "Requested sample logprobs of", ADDITION_TOP_LOGPROBS },
	/* SGLang, tokenizer_manager.py: "top_logprobs_num must be in [0, N]" */
	{ "top_logprobs_num", ADDITION_TOP_LOGPROBS },
	/* TGI, validation.rs: "`top_n_tokens` must be >= 0 and <= 5" */
	{ "top_n_tokens", ADDITION_TOP_LOGPROBS },
	/* SGLang: "... decoding does not support return_logprob yet." */
	{ "return_logprob", ADDITION_LOGPROBS },
	/* several gateways: "... are not supported by this model" */
	{ "log probabilities", ADDITION_LOGPROBS },
	/* vLLM with a tokenizer of Mistral's, of any chat_template_kwargs */
	{ "chat_template is not supported", ADDITION_THINKING },
	/* OpenAI and older vLLM: "(8192 in the messages, 1000 in ...)" */
	{ "in the completion", ADDITION_MAX_TOKENS },
	{ "in the completion", ADDITION_MAX_COMPLETION_TOKENS },
	/* SGLang: "8000 tokens from the input messages and 1000 ..." */
	{ "tokens for the completion", ADDITION_MAX_TOKENS },
	{ "tokens for the completion", ADDITION_MAX_COMPLETION_TOKENS },
	{ "enable_thinking", ADDITION_THINKING },
	{ "include_usage", ADDITION_USAGE },
	{ "return_input_ids_in_sglext", ADDITION_SGLEXT },
};

const char *addition_name(enum addition addition)
{
	return addition < ADDITION_SAMPLING
		       ? names[addition]
		       : sampling_names[addition - ADDITION_SAMPLING];
}

static bool is_word_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* In any case: Google says "Logprobs is not enabled for this model". */
static const char *find_nocase(const char *text, const char *end,
			       const char *needle)
{
	size_t len = strlen(needle);
	int first = tolower((unsigned char)needle[0]);

	for (; (size_t)(end - text) >= len; text++)
		if (tolower((unsigned char)*text) == first &&
		    span_is_nocase(span_from(text, len), needle))
			return text;
	return NULL;
}

static bool contains(struct span text, const char *phrase)
{
	return find_nocase(text.data, text.data + text.len, phrase);
}

/*
 * Behind the name that `text` begins with; NULL: it does not.  In any case and
 * without its underscores too: xAI says "presencePenalty".
 */
static const char *behind_name(const char *text, const char *end,
			       const char *name)
{
	for (; *name; name++)
		if (text < end &&
		    tolower((unsigned char)*text) == (unsigned char)*name)
			text++;
		else if (*name != '_')
			return NULL;
	return text;
}

/* As a word: "logprobs" is not in "top_logprobs". */
static bool mentions(struct span text, const char *name)
{
	const char *end = text.data + text.len;

	for (const char *p = text.data; p < end; p++) {
		const char *behind = behind_name(p, end, name);

		if (behind && (p == text.data || !is_word_byte(p[-1])) &&
		    (behind == end || !is_word_byte(*behind)))
			return true;
	}
	return false;
}

static bool is_in(unsigned set, enum addition addition)
{
	return set & 1u << addition;
}

static enum addition refused_param(struct span body, unsigned added)
{
	struct json_value error, param;

	if (!json_find(body, "error", &error) ||
	    !json_find(error.text, "param", &param) ||
	    param.type != JSON_STRING)
		return ADDITION_NONE;
	for (enum addition a = 0; a < ADDITION_COUNT; a++)
		if (is_in(added, a) &&
		    span_is(json_inside(param), addition_name(a)))
			return a;
	return ADDITION_NONE;
}

static enum addition refused_in_known_words(struct span body, unsigned added)
{
	for (size_t i = 0; i < ARRAY_LEN(phrases); i++)
		if (is_in(added, phrases[i].addition) &&
		    contains(body, phrases[i].text))
			return phrases[i].addition;
	return ADDITION_NONE;
}

/* OpenAI answers 403 "You are not allowed to request logprobs from ...". */
static bool is_refusal(unsigned status)
{
	return status == 400 || status == 403 || status == 422;
}

enum addition addition_refused(unsigned status, struct span body,
			       unsigned added)
{
	enum addition refused;

	/* Of a failure any mention may be by chance. */
	if (!body.len ||
	    !(is_refusal(status) || status == 500 || status == 501))
		return ADDITION_NONE;
	refused = refused_in_known_words(body, added);
	if (refused != ADDITION_NONE || !is_refusal(status))
		return refused;
	refused = refused_param(body, added);
	if (refused != ADDITION_NONE)
		return refused;
	for (enum addition a = 0; a < ADDITION_COUNT; a++)
		if (is_in(added, a) && mentions(body, addition_name(a)))
			return a;
	return ADDITION_NONE;
}

void additions_write(struct json_writer *jw, unsigned set)
{
	jw_array_begin(jw);
	for (enum addition a = 0; a < ADDITION_COUNT; a++) {
		bool again = a > 0 && is_in(set, a - 1) &&
			     !strcmp(addition_name(a), addition_name(a - 1));

		if (is_in(set, a) && !again)
			jw_cstring(jw, addition_name(a));
	}
	jw_array_end(jw);
}

void refusals_release(struct refusals *refusals)
{
	for (size_t i = 0; i < REFUSALS_MODELS; i++)
		free(refusals->models[i].model);
	*refusals = (struct refusals){ 0 };
}

static size_t find(const struct refusals *refusals, struct span model)
{
	size_t i = 0;

	while (i < REFUSALS_MODELS && refusals->models[i].model &&
	       !span_is(model, refusals->models[i].model))
		i++;
	return i;
}

unsigned refusals_of(const struct refusals *refusals, struct span model)
{
	size_t i = find(refusals, model);

	return i < REFUSALS_MODELS ? refusals->models[i].set : 0;
}

void refusals_add(struct refusals *refusals, struct span model,
		  enum addition addition)
{
	size_t i = find(refusals, model);

	if (i == REFUSALS_MODELS) {
		i = refusals->next++ % REFUSALS_MODELS;
		free(refusals->models[i].model);
		refusals->models[i].model = NULL;
		refusals->models[i].set = 0;
	}
	if (!refusals->models[i].model)
		refusals->models[i].model =
			xasprintf("%.*s", (int)model.len, model.data);
	refusals->models[i].set |= 1u << addition;
}

void refusals_forget(struct refusals *refusals, struct span model, unsigned set)
{
	size_t i = find(refusals, model);

	if (i < REFUSALS_MODELS)
		refusals->models[i].set &= ~set;
}
