#ifndef CONTROLLER_MESSAGE_PARTS_H
#define CONTROLLER_MESSAGE_PARTS_H

#include "shared/json_write.h"
#include "shared/span.h"

/*
 * A recorded message as the deltas of a stream: its reasoning, its content and
 * its tool calls' arguments, one after the other, cut wherever wanted but
 * within no character and no escape.
 *
 *	message_parts_init(&parts, message);
 *	message_parts_write(&parts, jw, 10, false);	the first 10 bytes
 *	message_parts_write(&parts, jw, parts.length, true);	and the rest
 *	message_parts_release(&parts);
 */
struct message_part;

struct message_parts {
	struct message_part *list;
	size_t count;
	size_t length; /* bytes of all texts, as they are escaped */
};

/* `message`: a JSON object; it must outlive the parts. */
void message_parts_init(struct message_parts *parts, struct span message);

/*
 * Write a delta: what comes before byte `to` of all texts and was not yet
 * written.  `last`: all the rest.
 */
void message_parts_write(struct message_parts *parts, struct json_writer *jw,
			 size_t to, bool last);
void message_parts_release(struct message_parts *parts);

#endif
