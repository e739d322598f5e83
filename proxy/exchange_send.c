/* The request of an exchange: planned, edited and sent. */
#include "proxy/exchange_send.h"

#include <stdlib.h>

#include "proxy/exchange_end.h"
#include "proxy/shield.h"
#include "shared/log.h"
#include "shared/mem.h"

static void send_upstream(struct exchange *x)
{
	struct error err;

	exchange_enter(x, EXCHANGE_WAITING);
	x->call = upstream_send(&x->proxy->upstream, x->http,
				SPAN("/chat/completions"),
				buf_span(&x->forwarded),
				&exchange_upstream_handler, x, &err);
	if (!x->call)
		exchange_end_refused(x, REPLY_UNREACHABLE, &err);
}

static char *text_of(struct span text)
{
	return text.len ? xasprintf("%.*s", (int)text.len, text.data) : NULL;
}

/* Of the agent's body. */
void exchange_send(struct exchange *x, const struct json_index *index)
{
	struct rewrite_rules rules = x->proxy->config->rules;
	struct span body = http_exchange_body(x->http);
	struct error err, ignored;
	bool planned;

	if (!rules.dialect) {
		rules.dialect = x->proxy->probe.dialect;
		probe_start(&x->proxy->probe);
	}
	rules.refusals = &x->proxy->refusals;
	rules.index = index;
	planned = rewrite_plan(&x->rewrite, &rules, body, &err);
	free(x->model);
	x->model = text_of(x->rewrite.model);
	answer_init(&x->answer, &x->rewrite, x->start_us);
	x->answer.strip.dialect = x->proxy->config->rules.dialect;
	x->answer.mask = log_mask_bytes;
	assemble_spill_to(&x->answer.assembler,
			  recorder_spill(x->proxy->recorder));
	if (planned &&
	    splice_apply(&x->rewrite.splices, body, &x->forwarded, &err)) {
		send_upstream(x);
		return;
	}
	buf_clear(&x->forwarded);
	if (!buf_add(&x->forwarded, body, &ignored))
		exchange_log_failure(x, "body not recorded", &ignored);
	exchange_end_refused(x, REPLY_BAD_REQUEST, &err);
}

/*
 * A refusal of what we added is none of the agent's business: the same request
 * goes out again without that.  It ends, because each addition can be refused
 * but once.
 */
bool exchange_send_without(struct exchange *x)
{
	enum addition refused = addition_refused(x->status, buf_span(&x->body),
						 x->rewrite.added);
	struct json_index index;

	if (refused == ADDITION_NONE || x->refused & 1u << refused)
		return false;
	log_info("octap-proxy", "turn %llu: the upstream refuses %s",
		 (unsigned long long)x->turn, addition_name(refused));
	refusals_add(&x->proxy->refusals, span_of(x->model), refused);
	x->refused |= 1u << refused;
	if (shield_is_about_context(buf_span(&x->body)))
		x->unfit |= 1u << refused;
	upstream_fields_release(&x->fields);
	buf_release(&x->body);
	answer_release(&x->answer);
	rewrite_release(&x->rewrite);
	buf_clear(&x->forwarded);
	x->status = 0;
	json_index_make(&index, http_exchange_body(x->http), 1);
	exchange_send(x, &index);
	return true;
}
