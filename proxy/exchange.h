#ifndef PROXY_EXCHANGE_H
#define PROXY_EXCHANGE_H

#include "shared/http_server.h"

/*
 * One model call on its way through the proxy, from the agent's request to the
 * record and the end of the answer.
 *
 * Rules it keeps: what leaves towards the upstream and the agent is spliced,
 * never printed anew; all complete events of one read leave in one write; the
 * record is written before the end of the answer is released; every ending
 * passes through EXCHANGE_RECORDING.
 */
struct proxy;

enum exchange_state {
	EXCHANGE_WAITING,   /* the upstream's status line; request timeout */
	EXCHANGE_WHOLE,     /* the rest of a body that is edited as a whole */
	EXCHANGE_STREAMING, /* events, passed on as they come */
	EXCHANGE_REFUSED,   /* the rest of an error's body */
	EXCHANGE_RECORDING, /* the recorder; the end is held back */
	EXCHANGE_DONE,      /* freed at the end of this turn of the loop */
};

/* Takes over the HTTP exchange, which is a POST to .../chat/completions. */
void exchange_begin(struct proxy *proxy, struct http_exchange *http);

/* End every call now, recording what came; the reason goes into the record. */
void exchange_abort_all(struct proxy *proxy, const char *reason);

#endif
