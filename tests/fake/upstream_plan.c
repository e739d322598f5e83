/* The options of the fake model server, on its command line and in scripts. */
#include "tests/fake/upstream_plan.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shared/buf.h"
#include "shared/file.h"
#include "shared/limits.h"
#include "shared/mem.h"
#include "shared/span.h"

static const char *const fault_names[] = {
	[FAULT_NONE] = "none",
	[FAULT_CUT] = "cut",
	[FAULT_RST] = "rst",
	[FAULT_SILENT] = "silent",
	[FAULT_CLOSE_BEFORE_HEAD] = "close-before-head",
	[FAULT_HALF_HEAD] = "half-head",
	[FAULT_NO_DONE] = "no-done",
	[FAULT_NO_FINISH] = "no-finish",
	[FAULT_ERROR_EVENT] = "error-event",
	[FAULT_HTML] = "html",
	[FAULT_JSON_FOR_STREAM] = "json-for-stream",
	[FAULT_GZIP] = "gzip",
	[FAULT_HANG_AFTER_FINISH] = "hang-after-finish",
	[FAULT_RAW] = "raw",
	NULL,
};

#define SETTING(name, kind, member) \
	OPTION(name, kind, struct upstream_settings, member)

static const struct option_entry entries[] = {
	{ .type = OPTION_HEADING, .help = "Of each answer:" },
	{
		SETTING("stream", TEXT, plan.stream),
		.argument = "FILE",
		.help = "sent to calls that ask for a stream",
	},
	{
		SETTING("body", TEXT, plan.body),
		.argument = "FILE",
		.help = "sent to all others",
	},
	{
		SETTING("plain-if-unasked", TEXT, plan.plain),
		.argument = "FILE",
		.help = "sent instead of either to calls without "
			"\"logprobs\":true",
	},
	{
		SETTING("refuse", LIST, plan.refused),
		.argument = "MEMBER",
		.help = "calls with this member get 400",
	},
	{
		SETTING("refusal", TEXT, plan.refusal),
		.argument = "FILE",
		.help = "the body then (default: OpenAI's words)",
	},
	{
		SETTING("status", NUMBER, plan.status),
		.minimum = 200,
		.maximum = 599,
		.argument = "N",
		.help = "HTTP status (default 200); from 400 on `body` is sent",
	},
	{
		SETTING("header", LIST, plan.headers),
		.argument = "LINE",
		.help = "another header; a Content-Type replaces ours",
	},
	{
		SETTING("chunk", TEXT, plan.chunk),
		.argument = "BYTES|random:SEED",
		.help = "body bytes in each HTTP chunk and write",
	},
	{
		SETTING("delay", NUMBER, plan.delay_ms),
		.maximum = UINT32_MAX,
		.argument = "MS",
		.help = "wait between writes of the body",
	},
	{
		SETTING("first-delay", NUMBER, plan.first_delay_ms),
		.maximum = UINT32_MAX,
		.argument = "MS",
		.help = "wait before the head",
	},
	{
		SETTING("content-length", FLAG, plan.content_length),
		.help = "send a length instead of chunks",
	},
	{
		SETTING("until-close", FLAG, plan.until_close),
		.help = "the connection's end is the body's",
	},
	{
		SETTING("endless", FLAG, plan.endless),
		.help = "send the body over and over",
	},
	{
		SETTING("fault", CHOICE, plan.fault_name),
		.choices = fault_names,
		.argument = "NAME",
		.help = "see upstream_plan.h",
	},
	{
		SETTING("fault-after", NUMBER, plan.fault_after),
		.maximum = UINT32_MAX,
		.argument = "BYTES",
		.help = "how much of the body goes out before the fault",
	},
	{ .type = OPTION_HEADING, .help = "Of the server:" },
	{
		SETTING("script", TEXT, script),
		.argument = "FILE",
		.help = "one line for each call, a JSON object with any of the "
			"options above; the last line repeats",
	},
	{
		SETTING("owned-by", TEXT, owned_by),
		.argument = "NAME",
		.help = "what its list of models says (default tests)",
	},
	{
		SETTING("models", TEXT, models),
		.argument = "JSON",
		.help = "answer for its list of models, as a line of a script",
	},
	{
		SETTING("save-requests", TEXT, save_folder),
		.argument = "FOLDER",
		.help = "keep each request as N.head and N.body",
	},
	{
		SETTING("require-key", TEXT, key_file),
		.argument = "FILE",
		.help = "answer 401 without this key",
	},
	{
		SETTING("port", NUMBER, port),
		.maximum = 65535,
		.argument = "N",
		.help = "port to listen on (default: a free one)",
	},
	{
		SETTING("keep-alive-timeout", NUMBER, keep_alive_ms),
		.maximum = UINT32_MAX,
		.argument = "MS",
		.help = "close connections that are idle for so long",
	},
};

static const struct option_table table = {
	.usage = "upstream [OPTION]...",
	.summary = "A scripted OpenAI-compatible model server on 127.0.0.1.",
	.entries = entries,
	.count = ARRAY_LEN(entries),
};

/* From the words of an option to what they mean. */
static bool read_plan(struct upstream_plan *plan, struct error *err)
{
	struct span chunk = span_of(plan->chunk);
	uint64_t seed = 0;

	for (size_t i = 0; fault_names[i]; i++)
		if (!strcmp(fault_names[i], plan->fault_name))
			plan->fault = (enum upstream_fault)i;
	if (span_starts_with(chunk, "random:") &&
	    span_to_u64(span_after(chunk, 7), &seed)) {
		plan->chunk_bytes = 0;
		plan->chunk_seed = (unsigned)seed;
		return true;
	}
	if (span_to_u64(chunk, &plan->chunk_bytes) && plan->chunk_bytes)
		return true;
	return error_set(err, ERROR_USAGE,
			 "chunk: '%s' is neither a number nor random:SEED",
			 plan->chunk);
}

static void add_word(struct option_list *words, char *word)
{
	words->items = xrealloc_array(words->items, words->count + 2,
				      sizeof(*words->items));
	words->items[words->count++] = word;
	words->items[words->count] = NULL;
}

/* A member of a script's line as a word of a command line. */
static void add_member(struct option_list *words, const char *name,
		       const cJSON *value)
{
	const cJSON *item;

	if (cJSON_IsTrue(value))
		add_word(words, xasprintf("--%s", name));
	else if (cJSON_IsNumber(value))
		add_word(words,
			 xasprintf("--%s=%.0f", name, value->valuedouble));
	else if (cJSON_IsString(value))
		add_word(words, xasprintf("--%s=%s", name, value->valuestring));
	else
		cJSON_ArrayForEach(item, value)
			add_member(words, name, item);
}

static bool read_line(struct upstream_settings *s, const char *line,
		      struct upstream_plan *plan, struct error *err)
{
	cJSON *object = cJSON_Parse(line);
	struct upstream_settings scratch = { .plan = s->plan };
	size_t first = s->words.count;
	const cJSON *member;
	char **operands, **argv;

	if (!cJSON_IsObject(object)) {
		cJSON_Delete(object);
		return error_set(err, ERROR_USAGE, "script: not an object: %s",
				 line);
	}
	add_word(&s->words, xstrdup("script"));
	cJSON_ArrayForEach(member, object)
		add_member(&s->words, member->string, member);
	cJSON_Delete(object);
	scratch.plan.headers = scratch.plan.refused = (struct option_list){ 0 };
	argv = (char **)(void *)(s->words.items + first);
	if (options_parse(&table, &scratch, (int)(s->words.count - first), argv,
			  &operands, err) != OPTIONS_OK ||
	    !read_plan(&scratch.plan, err))
		return error_wrap(err, "script: %s", line);
	*plan = scratch.plan;
	return true;
}

static bool add_line(struct upstream_settings *s, const char *line,
		     struct error *err)
{
	struct upstream_plan plan;

	if (!read_line(s, line, &plan, err))
		return false;
	s->scripted = xrealloc_array(s->scripted, s->scripted_count + 1,
				     sizeof(*s->scripted));
	s->scripted[s->scripted_count++] = plan;
	return true;
}

static bool read_script(struct upstream_settings *s, struct error *err)
{
	struct buf text;
	char *line, *next;
	bool ok;

	buf_init(&text, LIMIT_TASK_FILE);
	ok = file_read(s->script, &text, err);
	for (line = text.data; ok && line && *line; line = next) {
		next = strchrnul(line, '\n');
		if (*next)
			*next++ = '\0';
		ok = add_line(s, line, err);
	}
	buf_release(&text);
	if (ok && !s->scripted_count)
		ok = error_set(err, ERROR_USAGE, "script: no lines");
	return ok;
}

enum options_result upstream_settings_load(struct upstream_settings *s,
					   int argc, char **argv,
					   struct error *err)
{
	enum options_result result;
	char **operands;

	*s = (struct upstream_settings){
		.plan.status = 200,
		.plan.chunk = "65536",
		.plan.fault_name = "none",
	};
	result = options_parse(&table, s, argc, argv, &operands, err);
	if (result != OPTIONS_OK)
		return result;
	if (!read_plan(&s->plan, err) || (s->script && !read_script(s, err)) ||
	    (s->models && !read_line(s, s->models, &s->models_plan, err)) ||
	    (s->key_file && !file_read_secret(s->key_file, &s->key, err)))
		return OPTIONS_BAD;
	return OPTIONS_OK;
}

static void plan_release(struct upstream_plan *plan)
{
	option_list_release(&plan->headers);
	option_list_release(&plan->refused);
}

void upstream_settings_release(struct upstream_settings *s)
{
	for (size_t i = 0; i < s->scripted_count; i++)
		plan_release(&s->scripted[i]);
	for (size_t i = 0; i < s->words.count; i++)
		free((void *)(uintptr_t)s->words.items[i]);
	option_list_release(&s->words);
	plan_release(&s->plan);
	plan_release(&s->models_plan);
	free(s->scripted);
	free(s->key);
}

const struct upstream_plan *upstream_plan_for(const struct upstream_settings *s,
					      uint64_t call)
{
	if (!s->scripted_count)
		return &s->plan;
	return &s->scripted[call < s->scripted_count ? call
						     : s->scripted_count - 1];
}
