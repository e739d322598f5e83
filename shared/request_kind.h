#ifndef SHARED_REQUEST_KIND_H
#define SHARED_REQUEST_KIND_H

#include <stdbool.h>

#include "shared/json_scan.h"
#include "shared/span.h"
#include "shared/turn.h"

/*
 * What a chat-completion request is for, told from its body (opencode 1.18: the
 * title and compaction calls carry no tools and a system prompt of their own)
 * and from whether the agent named a parent session, as it does for subagents.
 * A request without tools that matches nothing known is TURN_OTHER: better not
 * trained on than mislabelled.  Works on any bytes; the body's index, if it has
 * one (or NULL), makes it quick.
 */
enum turn_kind request_kind(struct span body, const struct json_index *index,
			    bool has_parent);

#endif
