#ifndef PROXY_PROBE_H
#define PROXY_PROBE_H

#include "proxy/dialect.h"
#include "proxy/upstream.h"
#include "shared/buf.h"

/*
 * Finds out what server the upstream is, by what its list of models says
 * (`owned_by`).  Nothing waits for it: until it is known, requests ask for what
 * all servers understand or pass over.
 *
 *	probe_init(&probe, &upstream)
 *	probe_start(&probe)		at the start and at each model call;
 *					it asks at most once a second, and no
 *					more once there was an answer
 *	probe.dialect			NULL: not known
 */
struct probe {
	struct upstream *upstream;
	struct http_call *call; /* NULL: none under way */
	struct buf body;
	const struct dialect *dialect;
	uint64_t asked_ms; /* 0: never */
	bool answered;
	bool is_list; /* what comes, by its status */
};

void probe_init(struct probe *probe, struct upstream *upstream);
void probe_start(struct probe *probe);
void probe_release(struct probe *probe);

#endif
