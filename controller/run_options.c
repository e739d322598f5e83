/* Options of a rollout. */
#include "controller/run_options.h"

#include <string.h>

#include "shared/sampling.h"

#define WEEK_MS (7u * 24 * 3600 * 1000)

#define TOP_LOGPROBS_UNSET UINT64_MAX
#define TOP_LOGPROBS       5

static const char *const modes[] = { "transparent_proxy", "black_box", NULL };
static const char *const backends[] = { "bwrap", NULL };
static const char *const agents[] = { "opencode", NULL };
static const char *const agent_failures[] = { "null", "score", "zero", NULL };

const struct option_entry run_option_entries[RUN_OPTION_COUNT] = {
	{ .type = OPTION_HEADING, .help = "The task, without a TASK file:" },
	{
		OPTION("instruction", TEXT, struct run_options, instruction),
		.argument = "TEXT",
		.help = "what the agent is told",
	},
	{
		OPTION("setup", LIST, struct run_options, setup),
		.argument = "COMMAND",
		.help = "run before the agent; may be given again",
	},
	{
		OPTION("verify", LIST, struct run_options, verify),
		.argument = "COMMAND",
		.help = "run after the agent; the reward is the share that "
			"exits 0; may be given again",
	},
	{ .type = OPTION_HEADING, .help = "The model:" },
	{
		OPTION("base-url", TEXT, struct run_options, endpoint.base_url),
		.argument = "URL",
		.help = "base URL of an OpenAI-compatible server",
	},
	{
		OPTION("model", TEXT, struct run_options, endpoint.model),
		.argument = "ID",
		.help = "model id",
	},
	{
		OPTION("api-key-env", TEXT, struct run_options,
		       endpoint.key_env),
		.argument = "NAME",
		.help = "environment variable that holds the key",
	},
	{
		OPTION("endpoint", TEXT, struct run_options, endpoint.kind),
		.argument = "KIND",
		.help = "vllm, openai or hf_router: base URL, key and model "
			"from that kind's environment variables (default: "
			"the first kind that has any)",
	},
	{ .type = OPTION_HEADING, .help = "How it is run:" },
	{
		OPTION("mode", CHOICE, struct run_options, mode),
		.choices = modes,
		.argument = "MODE",
		.help = "transparent_proxy: record every model call "
			"(default); black_box: the agent talks to the model "
			"itself",
	},
	{
		OPTION("sandbox", CHOICE, struct run_options, sandbox),
		.choices = backends,
		.argument = "BACKEND",
		.help = "bwrap: bubblewrap on this host (default)",
	},
	{
		OPTION("agent", CHOICE, struct run_options, agent),
		.choices = agents,
		.argument = "NAME",
		.help = "opencode (default)",
	},
	{
		OPTION("agent-binary", TEXT, struct run_options, agent_binary),
		.env = "OCTAP_AGENT_BINARY",
		.argument = "FILE",
		.help = "the agent's executable (default: opencode beside "
			"octap or in PATH)",
	},
	{
		OPTION("auto", SWITCH, struct run_options, auto_approve),
		.help = "let the agent do everything without asking "
			"(default on)",
	},
	{
		OPTION("agent-timeout", SECONDS, struct run_options,
		       agent_timeout_ms),
		.minimum = 1,
		.maximum = WEEK_MS,
		.argument = "S",
		.help = "the agent's time (default: the task's, or 600)",
	},
	{
		OPTION("on-agent-failure", CHOICE, struct run_options,
		       on_agent_failure),
		.choices = agent_failures,
		.argument = "null|score|zero",
		.help = "reward after a timeout or a non-zero exit of the "
			"agent (default null)",
	},
	{ .type = OPTION_HEADING, .help = "What the model is asked for:" },
	{
		OPTION("max-tokens-cap", NUMBER, struct run_options,
		       max_tokens_cap),
		.minimum = 1,
		.maximum = UINT32_MAX,
		.argument = "N",
		.help = "at most N tokens an answer",
	},
	{
		OPTION("max-turns", NUMBER, struct run_options, max_turns),
		.minimum = 1,
		.maximum = UINT32_MAX,
		.argument = "N",
		.help = "at most N answers, then the agent is ended "
			"(transparent_proxy)",
	},
	{
		OPTION("top-logprobs", NUMBER, struct run_options,
		       top_logprobs),
		.maximum = 1000000,
		.argument = "N",
		.help = "alternatives recorded at each token (default 5; "
			"transparent_proxy)",
	},
	{
		OPTION("disable-thinking", SWITCH, struct run_options,
		       disable_thinking),
		.help = "send enable_thinking=false (default: on for vllm)",
	},
	{
		OPTION("sampling", TEXT, struct run_options, sampling),
		.argument = "JSON",
		.help = "temperature, top_p, top_k, min_p, seed, penalties",
	},
	{ .type = OPTION_HEADING, .help = "What comes out:" },
	{
		OPTION("out", TEXT, struct run_options, out),
		.argument = "DIR",
		.help = "folder for the results (default octap-out/ID)",
	},
	{
		OPTION("json", FLAG, struct run_options, json),
		.help = "print result.json on stdout, not the report",
	},
	{
		OPTION("verbose", FLAG, struct run_options, verbose),
		.help = "log what happens",
	},
};

struct run_options run_options_default(void)
{
	return (struct run_options){
		.mode = "transparent_proxy",
		.sandbox = "bwrap",
		.agent = "opencode",
		.on_agent_failure = "null",
		.top_logprobs = TOP_LOGPROBS_UNSET,
	};
}

void run_options_release(struct run_options *o)
{
	option_list_release(&o->setup);
	option_list_release(&o->verify);
}

static bool is_black_box(const struct run_options *o)
{
	return !strcmp(o->mode, "black_box");
}

bool run_options_check(const struct run_options *o, struct error *err)
{
	if (is_black_box(o) && o->top_logprobs != TOP_LOGPROBS_UNSET)
		return error_set(err, ERROR_USAGE,
				 "--top-logprobs needs --mode "
				 "transparent_proxy");
	if (is_black_box(o) && o->max_turns)
		return error_set(err, ERROR_USAGE,
				 "--max-turns needs --mode transparent_proxy");
	if (o->sampling && !sampling_check(span_of(o->sampling), err))
		return error_wrap(err, "--sampling");
	return true;
}

static enum on_agent_failure failure_choice(const char *name)
{
	if (!strcmp(name, "score"))
		return AGENT_FAILURE_SCORE;
	return !strcmp(name, "zero") ? AGENT_FAILURE_ZERO : AGENT_FAILURE_NULL;
}

struct rollout_spec run_options_spec(const struct run_options *o,
				     const struct endpoint *endpoint)
{
	return (struct rollout_spec){
		.agent = agent_find(o->agent),
		.backend = sandbox_backend_find(o->sandbox),
		.mode = is_black_box(o) ? ROLLOUT_BLACK_BOX
					: ROLLOUT_TRANSPARENT_PROXY,
		.on_agent_failure = failure_choice(o->on_agent_failure),
		.agent_timeout_ms = o->agent_timeout_ms,
		.top_logprobs = o->top_logprobs == TOP_LOGPROBS_UNSET
					? TOP_LOGPROBS
					: o->top_logprobs,
		.max_tokens_cap = o->max_tokens_cap,
		.max_turns = o->max_turns,
		.sampling = o->sampling,
		.disable_thinking = o->disable_thinking == SWITCH_UNSET
					    ? endpoint->disable_thinking
					    : o->disable_thinking == SWITCH_ON,
		.auto_approve = o->auto_approve != SWITCH_OFF,
	};
}
