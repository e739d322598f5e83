#ifndef PROXY_RECORDER_H
#define PROXY_RECORDER_H

#include <stdint.h>

#include "proxy/spill.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/turn.h"

/*
 * Writes turns to the trace without holding up the loop: encoding, compressing
 * and writing happen in one worker thread, in the order in which the turns were
 * given.  All callbacks come from the loop.
 */
struct recorder;
struct loop;

/* err NULL: the record is in the file. */
typedef void recorder_done_fn(const struct error *err, void *arg);

struct recorder *recorder_open(struct loop *loop, const char *path,
			       struct error *err);

/* The last turn that the file held already: numbering goes on after it. */
uint64_t recorder_last_turn(const struct recorder *recorder);

/* Where large parts of turns may wait, or NULL. */
struct spill *recorder_spill(const struct recorder *recorder);

/*
 * Record a turn; `on_done` comes exactly once.  What the turn borrows must stay
 * as it is until then, and so must its log-probabilities if they are spilled
 * (else NULL).  After a failure the record is kept, and written before
 * the next one or at the close.  One whose log-probabilities cannot be read is
 * written without them, as not complete.
 */
void recorder_append(struct recorder *recorder, const struct turn *turn,
		     const struct spool *logprobs, recorder_done_fn *on_done,
		     void *arg);

/* Records that are not in the file although they were given. */
uint64_t recorder_errors(const struct recorder *recorder);

/* Call when nothing is under way any more.  False: something is not written. */
bool recorder_close(struct recorder *recorder, struct error *err);

#endif
