/* GET .../models, and what is told from it. */
#include "proxy/probe.h"

#include "shared/clock.h"
#include "shared/json_scan.h"
#include "shared/json_text.h"
#include "shared/limits.h"
#include "shared/log.h"

#define ASK_AGAIN_MS 1000

static void on_head(struct http_call *call UNUSED, unsigned status, void *arg)
{
	struct probe *probe = arg;

	/* A server that has no such list will not get one; a busy one may. */
	probe->answered = status < 500 && status != 408 && status != 429;
	probe->is_list = status < 300;
}

/* A list that is too long tells nothing, and is not read to its end. */
static void on_body(struct http_call *call, struct span bytes, void *arg)
{
	struct probe *probe = arg;
	struct error err;

	if (buf_add(&probe->body, bytes, &err))
		return;
	log_warn("octap-proxy", "the list of models: %s", err.text);
	probe->call = NULL;
	http_call_cancel(call);
	buf_release(&probe->body);
}

/* {"data":[{"id":...,"owned_by":"vllm",...},...]} */
static const struct dialect *told_by(struct span body)
{
	struct json_value data, model, owner;
	struct json_cursor c;

	if (!json_find(body, "data", &data))
		return NULL;
	json_open(&c, data.text);
	json_enter_array(&c);
	if (!json_next_item(&c) || !json_read(&c, &model) ||
	    !json_find(model.text, "owned_by", &owner) ||
	    owner.type != JSON_STRING)
		return NULL;
	return dialect_by_owner(json_inside(owner));
}

static void on_done(struct http_call *call UNUSED, const struct error *err,
		    void *arg)
{
	struct probe *probe = arg;

	probe->call = NULL;
	if (err)
		probe->answered = false;
	else if (probe->is_list)
		probe->dialect = told_by(buf_span(&probe->body));
	if (probe->dialect)
		log_debug("octap-proxy", "the upstream speaks %s",
			  probe->dialect->name);
	buf_release(&probe->body);
}

void probe_init(struct probe *probe, struct upstream *upstream)
{
	*probe = (struct probe){ .upstream = upstream };
	buf_init(&probe->body, LIMIT_REPLY_ERROR);
}

void probe_start(struct probe *probe)
{
	static const struct http_handler handler = { on_head, on_body,
						     on_done };
	uint64_t now = clock_monotonic_ms();
	struct error err;

	if (probe->answered || probe->call ||
	    (probe->asked_ms && now - probe->asked_ms < ASK_AGAIN_MS))
		return;
	probe->asked_ms = now;
	probe->call =
		upstream_get(probe->upstream, "/models", &handler, probe, &err);
}

void probe_release(struct probe *probe)
{
	if (probe->call)
		http_call_cancel(probe->call);
	buf_release(&probe->body);
}
