#ifndef PROXY_REWRITE_H
#define PROXY_REWRITE_H

#include <stdint.h>

#include "proxy/additions.h"
#include "proxy/dialect.h"
#include "proxy/splice.h"
#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * Which edits a chat-completion request needs on its way upstream, and what
 * has to be taken out of the answer because of them.
 *
 * Only members of the body's outermost object count (a tool's schema may well
 * have a property named "logprobs"); of a member given twice the last one
 * counts, as for the servers.  An edit that would change nothing makes no
 * splice, and every byte outside the splices is the agent's.
 */
enum token_ids_rule {
	TOKEN_IDS_OFF,
	TOKEN_IDS_AUTO, /* where the dialect knows them, or is not known */
	TOKEN_IDS_ON,
};

struct rewrite_rules {
	const struct dialect *dialect;   /* NULL: not known */
	const struct refusals *refusals; /* NULL: none */
	uint64_t top_logprobs;
	enum token_ids_rule token_ids;
	uint64_t max_tokens_cap;    /* 0: none */
	bool disable_thinking;      /* chat_template_kwargs.enable_thinking */
	const char *model_override; /* NULL: leave the agent's */
	struct span sampling;       /* checked JSON object, or empty */
	const struct json_index *index; /* of the body, or NULL */
};

struct rewrite {
	struct splice_list splices;
	struct buf texts; /* what the splices put in */
	bool stream;      /* the agent asked for a stream */

	bool asks_logprobs; /* the agent or we */

	/* What the answer carries only because of us. */
	bool added_logprobs;
	bool added_token_ids;
	bool added_usage; /* the usage chunk of a stream */
	bool added_sglext;

	/*
	 * The server gives a stream no token ids: it was asked for a whole
	 * answer instead, of which a stream is to be made.
	 */
	bool whole_instead;
	bool wants_usage; /* the agent asked for the usage event */

	unsigned added;    /* set of additions */
	unsigned left_out; /* those that the model refused before */

	struct buf sampling; /* JSON: the record's `sampling` member */
	struct buf degraded; /* JSON: names of what is left out; or empty */
	struct span model;   /* JSON string as forwarded; empty: none */
};

/*
 * ERROR_MALFORMED: the body is not a JSON object by RFC 8259; then nothing of
 * it can be trusted to mean the same to us and to the server.
 */
bool rewrite_plan(struct rewrite *rw, const struct rewrite_rules *rules,
		  struct span body, struct error *err) MUST_USE;
void rewrite_release(struct rewrite *rw);

/* Does this request ask for a stream, and for its usage event? */
bool rewrite_is_stream(struct span body);
bool rewrite_wants_usage(struct span body);

#endif
