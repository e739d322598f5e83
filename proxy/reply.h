#ifndef PROXY_REPLY_H
#define PROXY_REPLY_H

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"

/*
 * What the proxy says to the agent in its own words.
 *
 * opencode 1.18 asks again when an error's text holds a status number or one of
 * many words (rate limit, overloaded, timeout ...), so the texts here hold
 * neither; and it asks for ever after an answer without a finish_reason.
 */
enum reply_error {
	REPLY_BAD_REQUEST,     /* 400: not a JSON object that we read */
	REPLY_UNAUTHORIZED,    /* 401 */
	REPLY_NOT_RECORDED,    /* 403: the trace cannot be written */
	REPLY_STOPPING,        /* 403: the proxy was told to stop */
	REPLY_NOT_FOUND,       /* 404 */
	REPLY_UNREACHABLE,     /* 502: no answer from the upstream */
	REPLY_BAD_ANSWER,      /* 502: an answer nobody can use */
	REPLY_UPSTREAM_SILENT, /* 504 */
	REPLY_UNFINISHED,      /* in a stream: no finish_reason */
	REPLY_NOT_A_STREAM,    /* in a stream: something else came */
};

/* The HTTP status that goes with it; 200 for those within a stream. */
unsigned reply_error_status(enum reply_error which);

/* {"error":{...}} as OpenAI has it. */
bool reply_error_body(enum reply_error which, struct buf *out,
		      struct error *err) MUST_USE;

/* The same as an event of a stream. */
bool reply_error_event(enum reply_error which, struct buf *out,
		       struct error *err) MUST_USE;

/*
 * A well-formed final answer, as a stream or whole, by which an agent that used
 * up its calls comes to an end.  Its model is "octap-synthetic"; a stream has
 * the usage event if the agent asked for it.
 */
bool reply_final_answer(bool stream, bool usage, struct buf *out,
			struct error *err) MUST_USE;

#endif
