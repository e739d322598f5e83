#ifndef PROXY_RESTREAM_H
#define PROXY_RESTREAM_H

#include <stdbool.h>

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * Makes the stream that an agent asked for out of a whole chat.completion, for
 * servers that give token ids with whole answers only.  Each choice becomes one
 * delta with all of its message and one with its finish_reason; `usage` tells
 * whether the usage event is to follow.  All other members of the outermost
 * object stand in every event as they came.
 */
bool restream(struct span whole, bool usage, struct buf *out,
	      struct error *err) MUST_USE;

#endif
