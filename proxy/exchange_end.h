#ifndef PROXY_EXCHANGE_END_H
#define PROXY_EXCHANGE_END_H

#include "proxy/answer.h"
#include "proxy/exchange.h"
#include "proxy/proxy.h"
#include "proxy/reply.h"
#include "proxy/rewrite.h"
#include "proxy/upstream.h"
#include "shared/http_client.h"

/*
 * The inside of an exchange, for exchange.c (which moves its bytes and changes
 * its state) and exchange_end.c (which ends it: every exchange_end_*() decides
 * what the agent gets and what is recorded, and enters EXCHANGE_RECORDING).
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

/* An error of our own instead of what the upstream did. */
void exchange_end_refused(struct exchange *x, enum reply_error which,
			  const struct error *why);

/* The connection breaks where the answer did. */
void exchange_end_cut(struct exchange *x, const struct error *why);

/*
 * The stream goes on, but not through here: an error event of our own, unless
 * the agent has its finish_reason, and the end.
 */
void exchange_end_unusable(struct exchange *x, const struct error *why);

/* The stream is over, in whatever way it ended. */
void exchange_end_stream(struct exchange *x);

/* `body` is whole: an answer, or the upstream's own refusal. */
void exchange_end_whole(struct exchange *x);
void exchange_end_upstream_refused(struct exchange *x);

/* EXCHANGE_RECORDING: record the turn, then give the agent the end. */
void exchange_record(struct exchange *x);

void exchange_log_failure(const struct exchange *x, const char *what,
			  const struct error *err);

#endif
