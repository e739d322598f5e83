/* Calls to the model server: address, headers. */
#include "proxy/upstream.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "proxy/shield.h"
#include "shared/json_write.h"
#include "shared/log.h"
#include "shared/mem.h"
#include "shared/url.h"
#include "shared/version.h"

#define CONNECT_TIMEOUT_MS 30000

static const char *const not_forwarded[] = {
	/* of the connection */
	"connection",
	"content-length",
	"expect",
	"host",
	"keep-alive",
	"proxy-authenticate",
	"proxy-authorization",
	"proxy-connection",
	"te",
	"trailer",
	"transfer-encoding",
	"upgrade",
	/* the agent's own key */
	"authorization",
	"api-key",
	"x-api-key",
	/* see the header */
	"accept-encoding",
};

static const char *const not_returned[] = {
	"connection",       "content-length",
	"keep-alive",       "proxy-authenticate",
	"proxy-connection", "te",
	"trailer",          "transfer-encoding",
	"upgrade",
};

static bool in_list(const char *const *list, size_t count, struct span name)
{
	for (size_t i = 0; i < count; i++)
		if (span_is_nocase(name, list[i]))
			return true;
	return false;
}

bool upstream_init(struct upstream *upstream, const char *base_url,
		   const char *key, uint64_t timeout_ms,
		   struct http_client *client, struct error *err)
{
	struct url url;

	if (!url_parse(base_url, &url, err))
		return false;
	*upstream = (struct upstream){
		.base = xasprintf("%s%s", url.origin,
				  *url.path ? url.path : "/v1"),
		.key = key,
		.timeout_ms = timeout_ms,
		.client = client,
	};
	url_release(&url);
	return true;
}

void upstream_release(struct upstream *upstream)
{
	free(upstream->base);
	*upstream = (struct upstream){ 0 };
}

struct header_list {
	char **items;
	size_t count;
	const char *connection; /* the agent's header; NULL: none */
	bool has_content_type;
};

static void add_header(struct header_list *list, const char *name,
		       const char *value)
{
	/* libcurl sends an empty value only when written with a semicolon. */
	char *line = *value ? xasprintf("%s: %s", name, value)
			    : xasprintf("%s;", name);

	list->items = xrealloc_array(list->items, list->count + 2,
				     sizeof(*list->items));
	list->items[list->count++] = line;
	list->items[list->count] = NULL;
}

static bool has_control_bytes(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 && *text != '\t')
			return true;
	return false;
}

/* Connection names further headers that end here. */
static bool ends_here(const char *connection, const char *name)
{
	struct span rest = span_of(connection);

	while (rest.len) {
		const char *comma = memchr(rest.data, ',', rest.len);
		size_t len = comma ? (size_t)(comma - rest.data) : rest.len;
		struct span item = span_trim(span_from(rest.data, len));

		if (span_is_nocase(item, name))
			return true;
		rest = span_after(rest, comma ? len + 1 : len);
	}
	return false;
}

static void forward_header(const char *name, const char *value, void *arg)
{
	struct header_list *list = arg;

	if (in_list(not_forwarded, ARRAY_LEN(not_forwarded), span_of(name)) ||
	    ends_here(list->connection, name) || has_control_bytes(name) ||
	    has_control_bytes(value))
		return;
	list->has_content_type |= !strcasecmp(name, "content-type");
	add_header(list, name, value);
}

static void add_key(struct header_list *list, const char *key)
{
	char *bearer = xasprintf("Bearer %s", key);

	add_header(list, "Authorization", bearer);
	mem_wipe(bearer, strlen(bearer));
	free(bearer);
}

static struct header_list make_headers(const struct upstream *upstream,
				       const struct http_exchange *from,
				       bool has_body)
{
	struct header_list list = {
		.connection = http_exchange_header(from, "connection"),
	};

	http_exchange_headers(from, forward_header, &list);
	add_key(&list, upstream->key);
	if (has_body && !list.has_content_type)
		add_header(&list, "Content-Type", "application/json");
	return list;
}

static void free_headers(struct header_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		mem_wipe(list->items[i], strlen(list->items[i]));
		free(list->items[i]);
	}
	free(list->items);
}

struct http_call *upstream_send(struct upstream *upstream,
				const struct http_exchange *from,
				struct span path, struct span body,
				const struct http_handler *handler, void *arg,
				struct error *err)
{
	struct header_list headers = make_headers(upstream, from, body.len > 0);
	struct span query = http_exchange_query(from);
	char *url = xasprintf("%s%.*s%s%.*s", upstream->base, (int)path.len,
			      path.data, query.len ? "?" : "", (int)query.len,
			      query.len ? query.data : "");
	const struct http_request request = {
		.method = http_exchange_method(from),
		.url = url,
		.headers = (const char *const *)headers.items,
		.body = body,
		.connect_timeout_ms = CONNECT_TIMEOUT_MS,
		.idle_timeout_ms = upstream->timeout_ms,
	};
	struct http_call *call =
		http_call_start(upstream->client, &request, handler, arg, err);

	free_headers(&headers);
	free(url);
	return call;
}

struct http_call *upstream_get(struct upstream *upstream, const char *path,
			       const struct http_handler *handler, void *arg,
			       struct error *err)
{
	char *url = xasprintf("%s%s", upstream->base, path);
	struct header_list headers = { 0 };
	struct http_request request = {
		.method = "GET",
		.url = url,
		.connect_timeout_ms = CONNECT_TIMEOUT_MS,
		.idle_timeout_ms = upstream->timeout_ms,
	};
	struct http_call *call;

	add_key(&headers, upstream->key);
	add_header(&headers, "User-Agent", "octap-proxy/" OCTAP_VERSION);
	request.headers = (const char *const *)headers.items;
	call = http_call_start(upstream->client, &request, handler, arg, err);
	free_headers(&headers);
	free(url);
	return call;
}

/* Copy a part of the header lines behind what `text` holds; its place. */
static char *keep_text(char **end, struct span part)
{
	char *text = *end;

	memcpy(text, part.data, part.len);
	text[part.len] = '\0';
	*end += part.len + 1;
	return text;
}

/* A value can only become shorter. */
static void clamp_retry_after(const char *name, char *value, uint64_t most_s)
{
	bool in_ms = !strcasecmp(name, "retry-after-ms");
	char instead[24];

	if ((in_ms || !strcasecmp(name, "retry-after")) &&
	    shield_retry_after(value, in_ms, most_s, instead) &&
	    strlen(instead) <= strlen(value))
		memcpy(value, instead, strlen(instead) + 1);
}

void upstream_fields_copy(struct upstream_fields *fields,
			  const struct http_call *call, uint64_t retry_after_s)
{
	struct span lines = http_call_headers(call);
	struct span name, value;
	char *end;

	/* "name: value\r\n" has room for two NULs to spare. */
	*fields = (struct upstream_fields){ .text = xmalloc(lines.len + 2) };
	end = fields->text;
	while (http_header_next(&lines, &name, &value)) {
		struct http_field *field;
		char *text;

		if (in_list(not_returned, ARRAY_LEN(not_returned), name))
			continue;
		fields->items = xrealloc_array(fields->items, fields->count + 1,
					       sizeof(*fields->items));
		field = &fields->items[fields->count++];
		field->name = keep_text(&end, name);
		text = keep_text(&end, value);
		log_masked(text); /* it may quote the key */
		clamp_retry_after(field->name, text, retry_after_s);
		field->value = text;
	}
}

void upstream_fields_release(struct upstream_fields *fields)
{
	free(fields->items);
	free(fields->text);
	*fields = (struct upstream_fields){ 0 };
}

const char *upstream_fields_find(const struct upstream_fields *fields,
				 const char *name)
{
	for (size_t i = 0; i < fields->count; i++)
		if (!strcasecmp(fields->items[i].name, name))
			return fields->items[i].value;
	return NULL;
}

void upstream_fields_versions(const struct upstream_fields *fields,
			      struct buf *json)
{
	static const char *const telling[] = {
		"server",          "openai-version",      "openai-model",
		"x-model-version", "x-weight-version",    "x-server-version",
		"x-vllm-version",  "llm_provider-server",
	};
	struct json_writer jw;
	struct error err;
	bool any = false;

	buf_clear(json);
	jw_init(&jw, json);
	jw_object_begin(&jw);
	for (size_t i = 0; i < ARRAY_LEN(telling); i++) {
		const char *value = upstream_fields_find(fields, telling[i]);

		if (!value)
			continue;
		any = true;
		jw_key(&jw, telling[i]);
		jw_cstring(&jw, value);
	}
	jw_object_end(&jw);
	if (!jw_finish(&jw, &err) || !any)
		buf_clear(json);
}
