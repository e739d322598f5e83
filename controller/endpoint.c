/* The catalog of endpoints. */
#include "controller/endpoint.h"

#include <stdlib.h>
#include <string.h>

#include "shared/file.h"
#include "shared/log.h"
#include "shared/mem.h"
#include "shared/span.h"
#include "shared/url.h"

/* What an endpoint without a key of its own is sent. */
#define NO_KEY "intercepted"

struct kind {
	const char *name;
	const char *base_env, *key_env, *model_env;
	const char *base_url, *key, *model; /* defaults; NULL: none */
	bool disable_thinking;
	const char *token_ids;
};

static const struct kind kinds[] = {
	{
		.name = "vllm",
		.base_env = "VLLM_URL",
		.key_env = "VLLM_API_KEY",
		.model_env = "VLLM_MODEL",
		.key = NO_KEY,
		.model = "Qwen/Qwen3.5-4B",
		.disable_thinking = true,
		.token_ids = "on",
	},
	{
		.name = "openai",
		.base_env = "OPENAI_BASE_URL",
		.key_env = "OPENAI_API_KEY",
		.model_env = "OPENAI_MODEL",
		.base_url = "https://api.openai.com/v1",
		.model = "gpt-4o-mini",
		.token_ids = "off",
	},
	{
		.name = "hf_router",
		.base_env = "HF_ROUTER_BASE_URL",
		.key_env = "HF_ROUTER_API_KEY",
		.model_env = "HF_ROUTER_MODEL",
		.base_url = "https://router.huggingface.co/v1",
		.model = "Qwen/Qwen3-4B-Instruct-2507:nscale",
		.token_ids = "off",
	},
};

/* A base URL that the user gave, nothing known about the server. */
static const struct kind custom = {
	.name = "custom",
	.key = NO_KEY,
	.token_ids = "auto",
};

/* A variable's text; NULL when it is unset, empty or blank. */
static const char *from_env(const char *name)
{
	const char *text = name ? getenv(name) : NULL;

	return text && span_trim(span_of(text)).len ? text : NULL;
}

static bool is_configured(const struct kind *kind)
{
	return from_env(kind->base_env) ||
	       (kind->base_url && from_env(kind->key_env));
}

static const struct kind *find_kind(const struct endpoint_choice *choice,
				    struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (choice->kind
			    ? !strcmp(kinds[i].name, choice->kind)
			    : !choice->base_url && is_configured(&kinds[i]))
			return &kinds[i];
	if (choice->kind)
		error_set(err, ERROR_USAGE,
			  "unknown endpoint kind: '%s'; expected one of (vllm, "
			  "openai, hf_router)",
			  choice->kind);
	else if (choice->base_url)
		return &custom;
	else
		error_set(err, ERROR_USAGE,
			  "no model endpoint: give --base-url and --model, or "
			  "set VLLM_URL, OPENAI_BASE_URL or OPENAI_API_KEY");
	return NULL;
}

static bool missing(const struct kind *kind, const char *what,
		    const char *variable, const char *option, struct error *err)
{
	if (!variable)
		return error_set(err, ERROR_USAGE, "no %s: give %s", what,
				 option);
	return error_set(err, ERROR_USAGE,
			 "%s: no %s (set %s env var or give %s)", kind->name,
			 what, variable, option);
}

static const char *first_of(const char *a, const char *b, const char *c)
{
	if (a)
		return a;
	return b ? b : c;
}

static bool set_base_url(struct endpoint *e, const char *text,
			 struct error *err)
{
	struct url url;

	if (!url_parse(text, &url, err))
		return false;
	e->base_url =
		xasprintf("%s%s", url.origin, *url.path ? url.path : "/v1");
	url_release(&url);
	return true;
}

static bool resolve(struct endpoint *e, const struct endpoint_choice *choice,
		    const struct kind *kind, struct error *err)
{
	const char *base = first_of(choice->base_url, from_env(kind->base_env),
				    kind->base_url);
	const char *model =
		first_of(choice->model, from_env(kind->model_env), kind->model);
	const char *key = first_of(from_env(choice->key_env),
				   from_env(kind->key_env), kind->key);
	const char *fault;
	struct span trimmed;

	if (!base)
		return missing(kind, "base_url", kind->base_env, "--base-url",
			       err);
	if (!model)
		return missing(kind, "model", kind->model_env, "--model", err);
	if (choice->key_env && !from_env(choice->key_env))
		return error_set(err, ERROR_USAGE,
				 "--api-key-env: %s is not set",
				 choice->key_env);
	if (!key)
		return missing(kind, "api_key", kind->key_env, "--api-key-env",
			       err);
	trimmed = span_trim(span_of(key));
	fault = secret_fault(trimmed);
	if (fault)
		return error_set(err, ERROR_USAGE, "%s: %s",
				 choice->key_env ? choice->key_env
						 : kind->key_env,
				 fault);
	e->kind = kind->name;
	e->model = xstrdup(model);
	e->key = xstrndup(trimmed.data, trimmed.len);
	e->disable_thinking = kind->disable_thinking;
	e->token_ids = kind->token_ids;
	e->key_is_secret = strcmp(e->key, NO_KEY) != 0;
	return set_base_url(e, base, err);
}

/* Somebody will wonder why the server says 401. */
static void warn_of_unused_keys(const struct endpoint_choice *choice)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (!choice->key_env && from_env(kinds[i].key_env))
			log_warn("octap",
				 "%s is set but not used with --base-url: "
				 "--api-key-env %s sends it",
				 kinds[i].key_env, kinds[i].key_env);
}

bool endpoint_resolve(struct endpoint *endpoint,
		      const struct endpoint_choice *choice, struct error *err)
{
	const struct kind *kind = find_kind(choice, err);
	struct endpoint e = { 0 };

	if (!kind)
		return false;
	if (!resolve(&e, choice, kind, err)) {
		endpoint_release(&e);
		return false;
	}
	if (kind == &custom)
		warn_of_unused_keys(choice);
	*endpoint = e;
	return true;
}

void endpoint_release(struct endpoint *e)
{
	if (e->key)
		mem_wipe(e->key, strlen(e->key));
	free(e->base_url);
	free(e->key);
	free(e->model);
	*e = (struct endpoint){ 0 };
}
