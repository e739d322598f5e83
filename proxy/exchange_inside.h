#ifndef PROXY_EXCHANGE_INSIDE_H
#define PROXY_EXCHANGE_INSIDE_H

#include "proxy/answer.h"
#include "proxy/exchange.h"
#include "proxy/proxy.h"
#include "proxy/rewrite.h"
#include "proxy/upstream.h"
#include "shared/http_client.h"

/*
 * The inside of an exchange, for exchange.c (which moves its bytes and changes
 * its state), exchange_send.c and exchange_end.c.
 */

/* How the agent gets the end, once the record is written. */
enum ending {
	ENDING_STREAM, /* what is held, then the end of the stream */
	ENDING_REPLY,  /* what is held, as the whole body */
	ENDING_CUT,    /* break the connection, as the upstream's was */
};

struct exchange {
	struct proxy *proxy;
	struct exchange *next, **link; /* in proxy->exchanges */
	struct http_exchange *http;
	struct http_call *call; /* NULL before and after */
	enum exchange_state state;

	uint64_t turn;
	uint64_t start_us, wall_us;
	enum turn_kind kind;
	char *session_id, *parent_session_id; /* NULL: not given */
	uint64_t attempt, supersedes;         /* as in the record */
	char *model; /* as forwarded, a JSON string; NULL: none */

	struct rewrite rewrite;
	struct buf forwarded; /* the body that went upstream */
	struct answer answer;
	struct buf body; /* of a whole answer or a refusal, so far */
	unsigned status; /* the upstream's; 0: none came */
	unsigned attempts;
	unsigned refused; /* set of additions that this call found out */
	unsigned unfit;   /* those of them that others may be fit for */
	struct upstream_fields fields; /* of its answer */
	struct buf versions;           /* JSON: those fields that tell them */

	enum ending ending;
	unsigned reply_status;    /* for ENDING_REPLY */
	struct error failure;     /* why it is not complete; NONE: it is */
	struct loop_timer *tick;  /* while streaming, or the agent is gone */
	uint64_t last_byte_ms;    /* from the upstream */
	uint64_t last_sent_ms;    /* to the agent */
	uint64_t last_drained_ms; /* when nothing waited for it to read */
	uint64_t gone_ms;         /* when it hung up, if we go on */
	bool agent_gone;
	bool finish_sent; /* the finish_reason, before it was gone */
	bool reply_begun;
	bool refusal_cut; /* it broke off, or was too long */
	bool shielded;    /* the refusal was reworded */
	bool restreamed;  /* the agent's stream was made of a whole answer */
};

/* The only way to another state. */
void exchange_enter(struct exchange *x, enum exchange_state state);

/* What the upstream does comes in here. */
extern const struct http_handler exchange_upstream_handler;

void exchange_log_failure(const struct exchange *x, const char *what,
			  const struct error *err);

#endif
