/* Telling the calls of an agent apart. */
#include "shared/request_kind.h"

#include "shared/json_scan.h"
#include "shared/json_text.h"

/* How the system prompts of opencode's calls begin. */
static const struct {
	const char *prefix;
	enum turn_kind kind;
} system_prompts[] = {
	{ "You are a title generator", TURN_TITLE },
	{ "You are a context summarization agent", TURN_COMPACTION },
	{ "You are a helpful AI assistant tasked with summarizing",
	  TURN_COMPACTION },
	{ "You are opencode", TURN_AGENT },
};

static bool kind_of_prompt(struct json_value text, enum turn_kind *kind)
{
	for (size_t i = 0; i < ARRAY_LEN(system_prompts); i++)
		if (json_string_starts_with(text, system_prompts[i].prefix)) {
			*kind = system_prompts[i].kind;
			return true;
		}
	return false;
}

/* Content is a string, or parts of which the first text counts. */
static struct json_value first_text(struct json_value content)
{
	struct json_value text = JSON_VALUE_NONE;
	struct json_cursor c;
	struct json_value part;

	if (content.type != JSON_ARRAY)
		return content;
	json_open(&c, content.text);
	json_enter_array(&c);
	if (json_next_item(&c) && json_read(&c, &part))
		json_find(part.text, "text", &text);
	return text;
}

static enum turn_kind kind_without_tools(struct json_value messages)
{
	enum turn_kind kind = TURN_OTHER;
	struct json_value message, content;
	struct json_cursor c;

	json_open(&c, messages.text);
	json_enter_array(&c);
	if (!json_next_item(&c) || !json_read(&c, &message) ||
	    !json_find(message.text, "content", &content))
		return TURN_OTHER;
	kind_of_prompt(first_text(content), &kind);
	return kind;
}

static bool has_items(struct json_value array)
{
	struct json_cursor c;

	json_open(&c, array.text);
	json_enter_array(&c);
	return json_next_item(&c);
}

enum turn_kind request_kind(struct span body, const struct json_index *index,
			    bool has_parent)
{
	enum { TOOLS, MESSAGES, COUNT };
	static const char *const names[COUNT] = { "tools", "messages" };
	enum turn_kind kind = TURN_AGENT;
	struct json_value v[COUNT];
	struct json_cursor c;

	json_open_indexed(&c, body, index);
	json_pick_next(&c, names, v, COUNT);
	if (!json_close(&c))
		v[TOOLS] = v[MESSAGES] = JSON_VALUE_NONE;
	if (!has_items(v[TOOLS]))
		kind = kind_without_tools(v[MESSAGES]);
	if (has_parent && (kind == TURN_AGENT || kind == TURN_OTHER))
		return TURN_SUBAGENT;
	return kind;
}
