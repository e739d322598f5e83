/* Requests that go through unrecorded. */
#include "proxy/passthrough.h"

#include <stdlib.h>

#include "proxy/proxy.h"
#include "proxy/reply.h"
#include "shared/limits.h"
#include "shared/log.h"
#include "shared/mem.h"

struct passthrough {
	struct proxy *proxy;
	struct passthrough *next, **link; /* in proxy->passthroughs */
	struct http_exchange *http;
	struct http_call *call; /* NULL once it is done */
	unsigned status;
	struct upstream_fields fields;
	struct buf refusal; /* kept back, for it may quote the key */
	bool begun;
};

static void passthrough_free(void *arg)
{
	struct passthrough *p = arg;

	upstream_fields_release(&p->fields);
	buf_release(&p->refusal);
	free(p);
}

static void passthrough_end(struct passthrough *p)
{
	if (p->call)
		http_call_cancel(p->call);
	*p->link = p->next;
	if (p->next)
		p->next->link = p->link;
	loop_defer_free(p->proxy->loop, passthrough_free, p);
	proxy_on_ended(p->proxy);
}

static void end_with_error(struct passthrough *p, enum reply_error which)
{
	proxy_reply_error(p->http, which);
	passthrough_end(p);
}

static void on_head(struct http_call *call, unsigned status, void *arg)
{
	struct passthrough *p = arg;

	p->status = status;
	upstream_fields_copy(&p->fields, call,
			     p->proxy->config->max_retry_after_ms / 1000);
	if (status >= 400)
		return;
	http_reply_begin(p->http, status, p->fields.items, p->fields.count);
	p->begun = true;
}

static void pass_refusal(struct passthrough *p)
{
	if (p->refusal.len)
		log_mask_bytes(p->refusal.data, p->refusal.len);
	http_reply(p->http, p->status, p->fields.items, p->fields.count,
		   buf_span(&p->refusal));
}

static void on_body(struct http_call *call, struct span bytes, void *arg)
{
	struct passthrough *p = arg;
	struct error err;

	if (!p->begun) {
		if (buf_add(&p->refusal, bytes, &err))
			return;
		log_warn("octap-proxy", "a refusal is cut: %s", err.text);
		pass_refusal(p);
		passthrough_end(p);
		return;
	}
	http_reply_write(p->http, bytes);
	if (http_reply_backlog(p->http) > LIMIT_HTTP_REPLY_GAP)
		http_call_pause(call);
}

static void on_done(struct http_call *call UNUSED, const struct error *err,
		    void *arg)
{
	struct passthrough *p = arg;

	p->call = NULL;
	if (err)
		log_warn("octap-proxy", "unrecorded call: upstream: %s",
			 err->text);
	if (err && !p->begun) {
		end_with_error(p, err->kind == ERROR_TIMEOUT
					  ? REPLY_UPSTREAM_SILENT
					  : REPLY_UNREACHABLE);
		return;
	}
	if (err)
		http_reply_cut(p->http);
	else if (!p->begun)
		pass_refusal(p);
	else
		http_reply_end(p->http);
	passthrough_end(p);
}

static void on_gone(void *arg)
{
	struct passthrough *p = arg;

	http_reply_cut(p->http);
	passthrough_end(p);
}

static void on_drained(void *arg)
{
	struct passthrough *p = arg;

	if (p->call)
		http_call_resume(p->call);
}

void passthrough_begin(struct proxy *proxy, struct http_exchange *http,
		       struct span path)
{
	static const struct http_handler handler = { on_head, on_body,
						     on_done };
	struct passthrough *p = xcalloc(1, sizeof(*p));
	struct error err;

	p->proxy = proxy;
	p->http = http;
	buf_init(&p->refusal, LIMIT_REPLY_ERROR);
	p->next = proxy->passthroughs;
	p->link = &proxy->passthroughs;
	if (p->next)
		p->next->link = &p->next;
	proxy->passthroughs = p;
	http_exchange_on_gone(http, on_gone, p);
	http_exchange_on_drained(http, on_drained, p);
	p->call = upstream_send(&proxy->upstream, http, path,
				http_exchange_body(http), &handler, p, &err);
	if (!p->call) {
		log_warn("octap-proxy", "pass on: %s", err.text);
		end_with_error(p, REPLY_UNREACHABLE);
	}
}

void passthrough_abort_all(struct proxy *proxy)
{
	while (proxy->passthroughs)
		on_gone(proxy->passthroughs);
}
