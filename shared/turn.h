#ifndef SHARED_TURN_H
#define SHARED_TURN_H

#include <stdint.h>

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * The trace record "octap.turn/1": one finished model call as one line of
 * JSON.  docs/trace.md explains each member.
 *
 * A struct turn borrows everything: for encoding from whoever assembled the
 * call, after decoding from the line.  Members that are JSON text (request,
 * logprobs, token ids ...) are copied byte for byte in both directions; an
 * absent one is an empty span and is written as null.
 */
#define TURN_SCHEMA "octap.turn/1"

/* What a call was for; see shared/request_kind.h for how it is told. */
enum turn_kind {
	TURN_AGENT,      /* the main loop */
	TURN_TITLE,      /* names the session */
	TURN_COMPACTION, /* summarises the history */
	TURN_SUBAGENT,   /* the main loop of a session with a parent */
	TURN_OTHER,
};

/* May these tokens be trained on?  Computed, never assumed. */
enum token_status {
	TOKENS_NONE, /* neither ids nor log-probabilities */
	TOKENS_IDS_ONLY,
	TOKENS_LOGPROBS_ONLY,
	TOKENS_MISMATCH,    /* they contradict each other */
	TOKENS_UNCONFIRMED, /* they agree, but no usage to check against */
	TOKENS_EXACT,       /* ids, log-probabilities and usage agree */
};

struct turn {
	uint64_t number; /* 1-based, by order of arrival */
	enum turn_kind kind;
	struct span rollout_id;        /* text; empty: not part of one */
	struct span session_id;        /* text; from the agent's headers */
	struct span parent_session_id; /* text */
	uint64_t attempt;              /* 1; more: the agent asked again */
	uint64_t supersedes;           /* turn of the attempt before; 0: none */

	struct span request;       /* the body as forwarded */
	struct span response;      /* JSON: the whole chat.completion */
	struct span finish_reason; /* JSON string; empty: there was none */

	/* Of choice 0.  JSON arrays of equal length, as far as present. */
	struct span logprobs;             /* entries as received */
	struct span completion_tokens;    /* strings */
	struct span completion_token_ids; /* integers */
	struct span per_token_logps;      /* numbers, the server's own text */
	struct span prompt_token_ids;     /* integers */
	struct span chunk_tokens;         /* integers: tokens in each chunk */
	struct span chunk_ms;             /* integers: since the request */
	enum token_status token_status;
	struct span logprobs_mode; /* text: raw, processed or unknown */

	/*
	 * Was the prompt compared with that of an earlier turn of the same
	 * lineage and what the model said then?
	 */
	uint64_t prefix_of;    /* that turn; 0: with none */
	bool prefix_broken;    /* it is not that with more behind it */
	uint64_t prefix_break; /* the first token that differs */

	struct span usage;    /* JSON object as received */
	struct span sampling; /* JSON object */
	struct span degraded; /* JSON array of member names */
	struct span dialect;  /* text */
	bool restreamed;      /* asked whole, made a stream for the agent */
	struct span upstream_model;     /* JSON string as received */
	struct span system_fingerprint; /* JSON string as received */
	struct span upstream_headers;   /* JSON object: those about versions */
	unsigned upstream_status;       /* HTTP; 0: no answer came */
	unsigned attempts;              /* times the request was sent */

	uint64_t timestamp_us; /* of arrival, since the epoch */
	uint64_t latency_us;   /* arrival to end */
	uint64_t ttft_us;      /* arrival to first event; 0: none */

	bool complete;              /* a finish_reason and a whole answer */
	bool delivered;             /* the agent got the end of it */
	bool side_effects_possible; /* it got the finish_reason only */
	struct span abort_reason;   /* text; empty when complete */
};

const char *turn_kind_name(enum turn_kind kind);
const char *token_status_name(enum token_status status);

/* One line, without its line feed. */
bool turn_encode(const struct turn *turn, struct buf *line,
		 struct error *err) MUST_USE;

/*
 * The same for a turn whose logprobs are not in memory: the caller puts them
 * in at *logprobs_at, as JSON on one line.
 */
bool turn_encode_around(const struct turn *turn, struct buf *line,
			size_t *logprobs_at, struct error *err) MUST_USE;

/*
 * Read a line.  Unknown members are passed over, so that a newer minor version
 * can be read; a record of another schema is refused.
 */
bool turn_decode(struct span line, struct turn *turn,
		 struct error *err) MUST_USE;

#endif
