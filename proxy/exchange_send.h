#ifndef PROXY_EXCHANGE_SEND_H
#define PROXY_EXCHANGE_SEND_H

#include "proxy/exchange_inside.h"

/*
 * Edit the agent's body, of which `index` is, and send it to the upstream; what
 * that does then comes to exchange_upstream_handler.  Where it cannot be, the
 * exchange ends.
 */
void exchange_send(struct exchange *x, const struct json_index *index);

/* The upstream refused: because of what we added?  Then it was sent again. */
bool exchange_send_without(struct exchange *x) MUST_USE;

#endif
