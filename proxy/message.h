#ifndef PROXY_MESSAGE_H
#define PROXY_MESSAGE_H

#include <stdint.h>

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/json_scan.h"
#include "shared/json_write.h"
#include "shared/span.h"

/*
 * The message of a choice, put together from deltas or read from a whole body.
 *
 * Texts are joined with their escapes as they stand and numbers are copied as
 * text, so nothing is lost on the way.  Members that the API has no rule for
 * are kept as they came, a list of what each delta had of them.
 */
enum message_text {
	TEXT_CONTENT,
	TEXT_REASONING,
	TEXT_REASONING_CONTENT,
	TEXT_REFUSAL,
	TEXT_COUNT,
};

/* What a model calls: its name and what it is given. */
struct called {
	struct buf name; /* JSON string; empty: not given */
	struct buf text; /* the inside of a JSON string */
	bool given;
};

enum call_kind {
	CALL_FUNCTION, /* with `arguments` */
	CALL_CUSTOM,   /* with `input` */
	CALL_KINDS,
};

struct tool_call {
	uint64_t index;      /* the server's own */
	struct buf id, type; /* JSON strings; empty: not given */
	struct called called[CALL_KINDS];
	struct buf unjoined; /* JSON array, empty or left open */
};

struct message {
	struct buf role;             /* JSON string; empty: not given */
	struct buf text[TEXT_COUNT]; /* insides of JSON strings */
	bool text_given[TEXT_COUNT];
	struct buf parts; /* content that came before the text, as a list */
	struct tool_call *calls;
	size_t call_count;
	struct called function_call; /* what there was before tool calls */
	struct buf unjoined;         /* JSON array, empty or left open */
};

void message_init(struct message *message);
void message_release(struct message *message);

/*
 * Add a delta or a message: the same members.  *text: it brought any text or
 * call; else it is left as it is.
 */
bool message_add(struct message *message, struct span object, bool *text,
		 struct error *err) MUST_USE;

/* As the `message` of a chat.completion. */
void message_write(const struct message *message, struct json_writer *jw);

#endif
