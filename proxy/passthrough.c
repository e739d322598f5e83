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
	bool begun;
};

static void passthrough_end(struct passthrough *p)
{
	if (p->call)
		http_call_cancel(p->call);
	*p->link = p->next;
	if (p->next)
		p->next->link = p->link;
	loop_defer_free(p->proxy->loop, free, p);
	proxy_check_drained(p->proxy);
}

static void end_with_error(struct passthrough *p, enum reply_error which)
{
	proxy_reply_error(p->http, which);
	passthrough_end(p);
}

static void on_head(struct http_call *call, unsigned status, void *arg)
{
	struct passthrough *p = arg;
	struct upstream_fields fields;

	upstream_fields_copy(&fields, call);
	http_reply_begin(p->http, status, fields.items, fields.count);
	upstream_fields_release(&fields);
	p->begun = true;
}

static void on_body(struct http_call *call, struct span bytes, void *arg)
{
	struct passthrough *p = arg;

	http_reply_write(p->http, bytes);
	if (http_reply_backlog(p->http) > LIMIT_HTTP_REPLY_GAP)
		http_call_pause(call);
}

static void on_done(struct http_call *call UNUSED, const struct error *err,
		    void *arg)
{
	struct passthrough *p = arg;

	p->call = NULL;
	if (err && !p->begun) {
		end_with_error(p, err->kind == ERROR_TIMEOUT
					  ? REPLY_UPSTREAM_SILENT
					  : REPLY_UNREACHABLE);
		return;
	}
	if (err)
		http_reply_cut(p->http);
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
