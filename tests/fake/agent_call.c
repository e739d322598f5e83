/* Calling the model. */
#include "tests/fake/agent_call.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/buf.h"
#include "shared/limits.h"
#include "shared/mem.h"
#include "shared/sse.h"
#include "tests/fake/agent_event.h"

#define USER_AGENT \
	"opencode/1.18.33 ai-sdk/provider-utils/4.0.23 runtime/bun/1.3.14"

static const char *const tool_names[] = {
	"bash",  "edit", "glob",      "grep",  "read",
	"skill", "task", "todowrite", "write",
};

/* --- The request. ------------------------------------------------------- */

static void add_message(cJSON *messages, const char *role, const char *content)
{
	cJSON *message = cJSON_CreateObject();

	cJSON_AddStringToObject(message, "role", role);
	cJSON_AddStringToObject(message, "content", content);
	cJSON_AddItemToArray(messages, message);
}

static const char *system_prompt(const struct agent_call *call)
{
	if (call->kind == AGENT_CALL_TITLE)
		return "You are a title generator. You output ONLY a title.";
	return call->config->system_prompt
		       ? call->config->system_prompt
		       : "You are opencode, an interactive CLI tool.";
}

static void add_messages(cJSON *body, const struct agent_call *call)
{
	cJSON *messages = cJSON_AddArrayToObject(body, "messages");
	const cJSON *message;

	add_message(messages, "system", system_prompt(call));
	add_message(messages, "user", call->instruction);
	cJSON_ArrayForEach(message, call->history)
		cJSON_AddItemToArray(messages, cJSON_Duplicate(message, true));
}

static bool has_tool(const struct agent_call *call, const char *name)
{
	/* A subagent may neither plan nor call another. */
	if (call->kind == AGENT_CALL_SUB &&
	    (!strcmp(name, "task") || !strcmp(name, "todowrite")))
		return false;
	return call->kind != AGENT_CALL_TITLE &&
	       agent_config_has_tool(call->config, name);
}

static cJSON *make_tool(const char *name)
{
	cJSON *tool = cJSON_CreateObject(), *function;

	cJSON_AddStringToObject(tool, "type", "function");
	function = cJSON_AddObjectToObject(tool, "function");
	cJSON_AddStringToObject(function, "name", name);
	cJSON_AddStringToObject(cJSON_AddObjectToObject(function, "parameters"),
				"type", "object");
	return tool;
}

static void add_tools(cJSON *body, const struct agent_call *call)
{
	cJSON *tools = cJSON_CreateArray();

	for (size_t i = 0; i < ARRAY_LEN(tool_names); i++)
		if (has_tool(call, tool_names[i]))
			cJSON_AddItemToArray(tools, make_tool(tool_names[i]));
	if (!cJSON_GetArraySize(tools)) {
		cJSON_Delete(tools);
		return;
	}
	cJSON_AddItemToObject(body, "tools", tools);
	cJSON_AddStringToObject(body, "tool_choice", "auto");
}

static char *make_body(const struct agent_call *call)
{
	cJSON *body = cJSON_CreateObject();
	const cJSON *option;
	char *text;

	cJSON_AddStringToObject(body, "model", call->config->model);
	cJSON_AddNumberToObject(body, "max_tokens", call->config->max_tokens);
	cJSON_ArrayForEach(option, call->config->request_options)
		cJSON_AddItemToObject(body, option->string,
				      cJSON_Duplicate(option, true));
	add_messages(body, call);
	add_tools(body, call);
	cJSON_AddTrueToObject(body, "stream");
	cJSON_AddTrueToObject(cJSON_AddObjectToObject(body, "stream_options"),
			      "include_usage");
	text = cJSON_PrintUnformatted(body);
	cJSON_Delete(body);
	return text;
}

static void add_header(struct curl_slist **headers, const char *name,
		       const char *value)
{
	char *line = xasprintf("%s: %s", name, value);

	*headers = curl_slist_append(*headers, line);
	free(line);
}

static struct curl_slist *make_headers(const struct agent_call *call)
{
	bool is_sub = call->kind == AGENT_CALL_SUB;
	const char *session = is_sub ? AGENT_SUB_SESSION : AGENT_SESSION;
	struct curl_slist *headers = NULL;
	char *bearer = xasprintf("Bearer %s", call->config->key);

	add_header(&headers, "Authorization", bearer);
	free(bearer);
	add_header(&headers, "Content-Type", "application/json");
	add_header(&headers, "User-Agent", USER_AGENT);
	add_header(&headers, "Accept", "*/*");
	add_header(&headers, "Accept-Encoding", "gzip, deflate, br, zstd");
	add_header(&headers, "x-session-affinity", session);
	add_header(&headers, "x-session-id", session);
	if (is_sub)
		add_header(&headers, "x-parent-session-id", AGENT_SESSION);
	add_header(&headers, "Expect", "");
	return headers;
}

/* --- The way there. ----------------------------------------------------- */

struct reply {
	CURLcode result;
	long status;
	struct buf body;
};

static size_t on_bytes(char *data, size_t size, size_t count, void *arg)
{
	struct reply *reply = arg;
	struct error err;

	if (!buf_add(&reply->body, span_from(data, size * count), &err))
		return 0;
	return size * count;
}

static void post(const struct agent_call *call, struct reply *reply)
{
	struct curl_slist *headers = make_headers(call);
	char *url = xasprintf("%s/chat/completions", call->config->base_url);
	char *body = make_body(call);
	CURL *curl = curl_easy_init();

	buf_init(&reply->body, LIMIT_REPLY_BODY);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
			 (curl_off_t)strlen(body));
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_bytes);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, reply);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	reply->result = curl_easy_perform(curl);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &reply->status);
	curl_easy_cleanup(curl);
	curl_slist_free_all(headers);
	cJSON_free(body);
	free(url);
}

/* --- The answer. -------------------------------------------------------- */

static const cJSON *member(const cJSON *object, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

static void append(char **text, const cJSON *more)
{
	char *joined;

	if (!cJSON_IsString(more))
		return;
	joined = xasprintf("%s%s", *text, more->valuestring);
	free(*text);
	*text = joined;
}

static void append_member(cJSON *object, const char *name, const cJSON *more)
{
	const char *old = cJSON_GetStringValue(member(object, name));
	char *text = xstrdup(old ? old : "");

	append(&text, more);
	cJSON_DeleteItemFromObjectCaseSensitive(object, name);
	cJSON_AddStringToObject(object, name, text);
	free(text);
}

static cJSON *tool_call_at(cJSON *calls, int index)
{
	while (cJSON_GetArraySize(calls) <= index) {
		cJSON *call = cJSON_CreateObject();

		cJSON_AddStringToObject(call, "type", "function");
		cJSON_AddObjectToObject(call, "function");
		cJSON_AddItemToArray(calls, call);
	}
	return cJSON_GetArrayItem(calls, index);
}

static void take_tool_call(cJSON *calls, const cJSON *delta)
{
	const cJSON *index = member(delta, "index");
	const cJSON *from = member(delta, "function");
	cJSON *call = tool_call_at(calls, index ? index->valueint : 0);
	cJSON *to = cJSON_GetObjectItemCaseSensitive(call, "function");

	append_member(call, "id", member(delta, "id"));
	append_member(to, "name", member(from, "name"));
	append_member(to, "arguments", member(from, "arguments"));
}

static void take_choice(struct agent_answer *answer, const cJSON *choice)
{
	const cJSON *delta = member(choice, "delta"), *call;
	const cJSON *finish = member(choice, "finish_reason");

	append(&answer->text, member(delta, "content"));
	cJSON_ArrayForEach(call, member(delta, "tool_calls"))
		take_tool_call(answer->tool_calls, call);
	if (cJSON_IsString(finish))
		snprintf(answer->finish_reason, sizeof(answer->finish_reason),
			 "%s", finish->valuestring);
}

/* Both ways end the feed: [DONE], and an error, which is then printed. */
static bool on_event(const struct sse_event *event, void *arg)
{
	struct agent_answer *answer = arg;
	const cJSON *error;
	cJSON *json;
	bool ok;

	if (!event->has_data)
		return true;
	if (span_is(event->data, "[DONE]"))
		return false;
	json = cJSON_ParseWithLength(event->data.data, event->data.len);
	error = member(json, "error");
	ok = json && !error;
	if (ok)
		take_choice(answer,
			    cJSON_GetArrayItem(member(json, "choices"), 0));
	else
		agent_event_error(
			"UnknownError",
			json ? cJSON_GetStringValue(member(error, "message"))
			     : "JSON parsing failed",
			NULL);
	if (!ok)
		agent_answer_release(answer);
	cJSON_Delete(json);
	return ok;
}

static bool read_answer(const struct reply *reply, struct agent_answer *answer)
{
	struct sse_parser sse;
	struct error err;
	bool ok;

	*answer = (struct agent_answer){ .text = xstrdup(""),
					 .tool_calls = cJSON_CreateArray() };
	sse_init(&sse, LIMIT_SSE_EVENT);
	ok = sse_feed(&sse, buf_span(&reply->body), on_event, answer, &err);
	sse_release(&sse);
	if (!ok) {
		agent_event_error("UnknownError", err.text, NULL);
		agent_answer_release(answer);
	}
	return ok && answer->text;
}

static bool is_overflow(const struct reply *reply)
{
	struct span body = buf_span(&reply->body);

	return reply->status == 413 ||
	       (reply->status >= 400 &&
		(span_contains(body, "context_length_exceeded") ||
		 span_contains(body, "maximum context length")));
}

static void print_refusal(const struct reply *reply)
{
	cJSON *data = cJSON_CreateObject();

	cJSON_AddNumberToObject(data, "statusCode", (double)reply->status);
	cJSON_AddStringToObject(data, "responseBody",
				reply->body.data ? reply->body.data : "");
	agent_event_error(is_overflow(reply) ? "ContextOverflowError"
					     : "APIError",
			  "The model's answer was an error.", data);
}

bool agent_call_make(const struct agent_call *call, struct agent_answer *answer)
{
	struct reply reply;
	bool ok = false;

	post(call, &reply);
	if (reply.result != CURLE_OK)
		agent_event_error("APIError", curl_easy_strerror(reply.result),
				  NULL);
	else if (reply.status >= 400)
		print_refusal(&reply);
	else
		ok = read_answer(&reply, answer);
	buf_release(&reply.body);
	return ok;
}

void agent_answer_release(struct agent_answer *answer)
{
	free(answer->text);
	cJSON_Delete(answer->tool_calls);
	*answer = (struct agent_answer){ 0 };
}
