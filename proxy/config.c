/* The options of octap-proxy. */
#include "proxy/config.h"

#include <string.h>
#include <strings.h>

#include "proxy/keys.h"
#include "shared/limits.h"
#include "shared/sampling.h"
#include "shared/url.h"

#define DEFAULT_TRACE "/tmp/opencode-proxy-trace.jsonl"

#define WEEK_MS (7u * 24 * 3600 * 1000)

/* Hosts that refuse members they do not know. */
static const char *const strict_hosts[] = {
	"api.openai.com",
	"router.huggingface.co",
};

static const char *const dialect_choices[] = { "auto",   "openai",   "vllm",
					       "sglang", "llamacpp", "plain",
					       NULL };
static const char *const disconnect_choices[] = { "cancel", "drain", NULL };
static const char *const trace_error_choices[] = { "stop", "continue", NULL };
static const char *const mode_choices[] = { "auto", "raw", "processed", NULL };
static const char *const token_ids_choices[] = { "auto", "on", "off", NULL };

static const struct option_entry entries[] = {
	{ .type = OPTION_HEADING, .help = "Where calls come from and go to:" },
	{
		OPTION("upstream-url", TEXT, struct config, upstream_url),
		.argument = "URL",
		.help = "base URL of the model server; /v1 is added only "
			"when it has no path (required)",
	},
	{
		OPTION("upstream-api-key-file", TEXT, struct config, key_file),
		.argument = "FILE",
		.help = "file (or /dev/fd/N) that holds the upstream's key",
	},
	{
		OPTION("upstream-api-key", TEXT, struct config, key_argument),
		.argument = "KEY",
		.help = "the key itself; whoever may list processes sees it: "
			"prefer the file or OPENCODE_UPSTREAM_API_KEY or "
			"UPSTREAM_API_KEY in the environment",
	},
	{
		OPTION("host", TEXT, struct config, host),
		.argument = "ADDRESS",
		.help = "address to listen on (default 127.0.0.1); one that "
			"other machines reach is warned of",
	},
	{
		OPTION("port", NUMBER, struct config, port),
		.maximum = 65535,
		.argument = "N",
		.help = "port to listen on (default 7000; 0: a free one)",
	},
	{
		OPTION("client-key-file", TEXT, struct config, client_key_file),
		.argument = "FILE",
		.help = "answer only callers that bring the key in this file",
	},
	{
		OPTION("client-timeout", SECONDS, struct config,
		       client_timeout_ms),
		.minimum = 1,
		.maximum = WEEK_MS,
		.argument = "S",
		.help = "close a caller's connection that is idle, or takes "
			"for a request, longer than S seconds (default 60)",
	},
	{
		OPTION("request-timeout", SECONDS, struct config,
		       request_timeout_ms),
		.minimum = 1,
		.maximum = WEEK_MS,
		.argument = "S",
		.help = "give up when the upstream sends nothing for S "
			"seconds (default 600)",
	},
	{ .type = OPTION_HEADING, .help = "What is recorded:" },
	{
		OPTION("trace", TEXT, struct config, trace_path),
		.argument = "FILE",
		.help = "file for the records, compressed if its name ends in "
			".zst (default " DEFAULT_TRACE ")",
	},
	{
		OPTION("rollout-id", TEXT, struct config, rollout_id),
		.argument = "ID",
		.help = "written into each record",
	},
	{
		OPTION("logprobs-mode", CHOICE, struct config, logprobs_mode),
		.choices = mode_choices,
		.argument = "auto|raw|processed",
		.help = "written into each record: whether the server's "
			"log-probabilities are before or after temperature "
			"(default auto: as far as its dialect tells)",
	},
	{ .type = OPTION_HEADING, .help = "What is changed in requests:" },
	{
		OPTION("top-logprobs", NUMBER, struct config,
		       rules.top_logprobs),
		.maximum = 1000000,
		.argument = "N",
		.help = "alternatives asked for at each token (default 5)",
	},
	{
		OPTION("dialect", CHOICE, struct config, dialect),
		.choices = dialect_choices,
		.argument = "auto|openai|vllm|sglang|llamacpp|plain",
		.help = "what kind of server the upstream is; auto: told by "
			"its list of models (default auto)",
	},
	{
		OPTION("token-ids", CHOICE, struct config, token_ids),
		.choices = token_ids_choices,
		.argument = "auto|on|off",
		.help = "ask for token ids; auto: if the dialect has them or "
			"is not known, and the upstream is neither "
			"api.openai.com nor router.huggingface.co "
			"(default auto)",
	},
	{
		OPTION("max-tokens-cap", NUMBER, struct config,
		       rules.max_tokens_cap),
		.minimum = 1,
		.maximum = UINT32_MAX,
		.argument = "N",
		.help = "lower max_tokens and max_completion_tokens to N",
	},
	{
		OPTION("disable-thinking", FLAG, struct config,
		       rules.disable_thinking),
		.help = "send chat_template_kwargs.enable_thinking=false",
	},
	{
		OPTION("model-override", TEXT, struct config,
		       rules.model_override),
		.argument = "ID",
		.help = "ask for this model whatever the agent asks for",
	},
	{
		OPTION("sampling", TEXT, struct config, sampling),
		.argument = "JSON",
		.help = "set any of temperature, top_p, top_k, min_p, "
			"presence_penalty, frequency_penalty, "
			"repetition_penalty, seed",
	},
	{ .type = OPTION_HEADING, .help = "What is bounded:" },
	{
		OPTION("max-turns", NUMBER, struct config, max_turns),
		.minimum = 1,
		.maximum = UINT32_MAX,
		.argument = "N",
		.help = "after N delivered answers end the agent with a "
			"final answer of our own (default: no limit)",
	},
	{
		OPTION("max-total-tokens", NUMBER, struct config,
		       max_total_tokens),
		.minimum = 1,
		.maximum = UINT32_MAX,
		.argument = "N",
		.help = "the same once the delivered answers' prompts and "
			"completions amount to N tokens (default: no limit)",
	},
	{
		OPTION("max-retry-after", SECONDS, struct config,
		       max_retry_after_ms),
		.maximum = 24 * 3600 * 1000,
		.argument = "SECONDS",
		.help = "an upstream's Retry-After is no longer (default 30)",
	},
	{
		OPTION("drain-timeout", SECONDS, struct config,
		       drain_timeout_ms),
		.maximum = 3600 * 1000,
		.argument = "SECONDS",
		.help = "calls under way when stopped have so long to end "
			"(default 5)",
	},
	{ .type = OPTION_HEADING, .help = "When something fails:" },
	{
		OPTION("error-shield", SWITCH, struct config, error_shield),
		.help = "reword refusals by whose text an agent would ask "
			"again in vain (default on)",
	},
	{
		OPTION("on-disconnect", CHOICE, struct config, on_disconnect),
		.choices = disconnect_choices,
		.argument = "cancel|drain",
		.help = "when the agent hangs up: cancel the call, or record "
			"the rest of its answer (default cancel)",
	},
	{
		OPTION("on-trace-error", CHOICE, struct config, on_trace_error),
		.choices = trace_error_choices,
		.argument = "stop|continue",
		.help = "when a record cannot be written: refuse further "
			"calls, or go on (default stop)",
	},
	{ .type = OPTION_HEADING, .help = "Other:" },
	{
		OPTION("run-as", TEXT, struct config, run_as),
		.argument = "UID:GID",
		.help = "started by root: become this user once the keys are "
			"read, the trace is open and the port is bound",
	},
	{
		OPTION("verbose", FLAG, struct config, verbose),
		.help = "log each call",
	},
};

const struct option_table config_options = {
	.usage = "octap-proxy --upstream-url URL [OPTION]...",
	.summary = "Forward OpenAI-compatible model calls, ask for "
		   "log-probabilities on the way, and\n"
		   "record every call in a trace file.",
	.examples = "  octap-proxy --upstream-url http://127.0.0.1:8000 "
		    "--trace trace.jsonl.zst\n"
		    "  octap-proxy --upstream-url https://models.example/v1 "
		    "--upstream-api-key-file key \\\n"
		    "              --port 0 --max-tokens-cap 4096 "
		    "--sampling '{\"temperature\":1}'\n",
	.exit_codes = "  0  stopped by SIGTERM or SIGINT, every record "
		      "written\n"
		      "  1  could not start, or a record could not be "
		      "written\n"
		      "  2  wrong command line\n",
	.entries = entries,
	.count = ARRAY_LEN(entries),
};

static bool is_strict_host(const char *host)
{
	for (size_t i = 0; i < ARRAY_LEN(strict_hosts); i++)
		if (!strcasecmp(host, strict_hosts[i]))
			return true;
	return false;
}

/* "UID:GID", neither of them root's. */
static bool parse_user(struct config *c)
{
	struct span text = span_of(c->run_as);
	const char *colon = strchr(c->run_as, ':');
	size_t len = colon ? (size_t)(colon - c->run_as) : 0;

	return colon &&
	       span_to_u64(span_from(text.data, len), &c->run_as_uid) &&
	       span_to_u64(span_after(text, len + 1), &c->run_as_gid) &&
	       c->run_as_uid && c->run_as_uid <= INT32_MAX && c->run_as_gid &&
	       c->run_as_gid <= INT32_MAX;
}

static enum token_ids_rule token_ids_rule(const char *choice, const char *host)
{
	if (!strcmp(choice, "auto"))
		return is_strict_host(host) ? TOKEN_IDS_OFF : TOKEN_IDS_AUTO;
	return !strcmp(choice, "on") ? TOKEN_IDS_ON : TOKEN_IDS_OFF;
}

static bool check(struct config *c, struct error *err)
{
	struct url url;

	if (!c->upstream_url)
		return error_set(err, ERROR_USAGE,
				 "--upstream-url is missing: give the model "
				 "server's base URL");
	if (!url_parse(c->upstream_url, &url, err))
		return error_wrap(err, "--upstream-url");
	c->drain_disconnected = !strcmp(c->on_disconnect, "drain");
	c->go_on_untraced = !strcmp(c->on_trace_error, "continue");
	c->rules.dialect = dialect_by_name(c->dialect);
	c->rules.token_ids = token_ids_rule(c->token_ids, url.host);
	url_release(&url);
	if (c->run_as && !parse_user(c))
		return error_set(err, ERROR_USAGE,
				 "--run-as: '%s' is not UID:GID, two numbers "
				 "above 0",
				 c->run_as);
	if (c->rules.model_override &&
	    (!*c->rules.model_override ||
	     strlen(c->rules.model_override) > LIMIT_PATH / 2))
		return error_set(err, ERROR_USAGE,
				 "--model-override: no model's id is %s",
				 *c->rules.model_override ? "so long"
							  : "empty");
	c->rules.sampling = span_of(c->sampling);
	return !c->sampling || sampling_check(c->rules.sampling, err) ||
	       error_wrap(err, "--sampling");
}

enum options_result config_load(struct config *c, int argc, char **argv,
				struct error *err)
{
	enum options_result result;
	char **operands;

	*c = (struct config){
		.trace_path = DEFAULT_TRACE,
		.host = "127.0.0.1",
		.port = 7000,
		.client_timeout_ms = 60 * 1000,
		.request_timeout_ms = 600 * 1000,
		.rules.top_logprobs = 5,
		.max_retry_after_ms = 30 * 1000,
		.drain_timeout_ms = 5 * 1000,
		.on_disconnect = "cancel",
		.on_trace_error = "stop",
		.logprobs_mode = "auto",
		.dialect = "auto",
		.token_ids = "auto",
	};
	result = options_parse(&config_options, c, argc, argv, &operands, err);
	if (result != OPTIONS_OK)
		return result;
	if (*operands) {
		error_set(err, ERROR_USAGE, "'%s': no operands are expected",
			  *operands);
		return OPTIONS_BAD;
	}
	return keys_load(c, argc, argv, err) && check(c, err) ? OPTIONS_OK
							      : OPTIONS_BAD;
}

void config_release(struct config *c)
{
	keys_wipe(c);
}
