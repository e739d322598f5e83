#ifndef PROXY_LINEAGE_H
#define PROXY_LINEAGE_H

#include <stdint.h>

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/span.h"
#include "shared/turn.h"

/*
 * How a turn follows from an earlier one of the same lineage, which is the
 * calls of one kind in one of the agent's sessions.
 *
 * A request whose bytes are those of the lineage's last one, to which the agent
 * got no answer or an error, is another attempt at the same turn.  After a
 * delivered answer the same bytes are a new turn.
 *
 * A model that is trained on a whole rollout must have seen, at each turn, what
 * it said before: the prompt's ids have to begin with the prompt and the
 * completion of the turn before.  An agent that rewrites its history, or text
 * that is tokenised otherwise than it was sampled, breaks that.
 *
 *	lineage_begin(&lineages, &turn, body)	fills attempt, supersedes
 *	lineage_lost(&lineages, &turn)		if the agent hung up before the end
 *	lineage_end(&lineages, &turn)		fills prefix_of, prefix_break
 *
 * The lineages used last are remembered.
 */
#define LINEAGES_KEPT 16

struct lineage {
	char *session;       /* NULL: free */
	enum turn_kind kind; /* of its calls */
	uint64_t used;       /* a clock's tick */
	uint64_t last_turn;
	uint64_t last_hash; /* of its body */
	uint64_t last_attempt;
	bool last_failed;  /* the agent has no whole answer */
	uint64_t ids_turn; /* whose tokens follow */
	struct buf ids;    /* comma-separated, prompt and completion */
};

struct lineages {
	struct lineage kept[LINEAGES_KEPT];
	uint64_t ticks;
};

void lineages_init(struct lineages *lineages);
void lineages_release(struct lineages *lineages);

/* Looks at the turn's number, kind and session; `body` as the agent sent it. */
void lineage_begin(struct lineages *lineages, struct turn *turn,
		   struct span body);

/* It will not be delivered, and may be asked for again before it ends. */
void lineage_lost(struct lineages *lineages, const struct turn *turn);

/* Looks at the ids, and at whether it is complete and delivered. */
void lineage_end(struct lineages *lineages, struct turn *turn);

#endif
