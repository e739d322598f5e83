#ifndef PROXY_REQUEST_EDIT_H
#define PROXY_REQUEST_EDIT_H

#include "proxy/splice.h"
#include "shared/buf.h"
#include "shared/json_scan.h"
#include "shared/sampling.h"
#include "shared/span.h"

/*
 * The members of a request's outermost object that some rule looks at, and
 * edits to them.  Of a member given twice the last one counts, as for the
 * servers; what is found stays as the agent sent it, whatever is edited.
 */
enum request_member {
	REQ_STREAM,
	REQ_STREAM_OPTIONS,
	REQ_LOGPROBS,
	REQ_TOP_LOGPROBS,
	REQ_RETURN_TOKEN_IDS,
	REQ_INPUT_IDS_IN_SGLEXT,
	REQ_OUTPUT_IDS_IN_SGLEXT,
	REQ_N_PROBS,
	REQ_TOOLS,
	REQ_MODEL,
	REQ_MAX_TOKENS,
	REQ_MAX_COMPLETION_TOKENS,
	REQ_CHAT_TEMPLATE_KWARGS,
	REQ_SAMPLING, /* the first of sampling_names */
	REQ_COUNT = REQ_SAMPLING + SAMPLING_COUNT,
};

const char *request_member_name(enum request_member m);
enum request_member request_member_of_key(struct span key); /* or REQ_COUNT */

struct found_member {
	struct span key; /* with its quotes; absent: empty */
	struct json_value value;
};

struct request_edit {
	struct splice_list *splices; /* the caller's, as is the next */
	struct buf *texts;           /* what they put in; must not move */
	struct span body;
	const struct json_index *index; /* of the body, or NULL */
	struct found_member members[REQ_COUNT];
	size_t inside;    /* offset just after the opening brace */
	bool has_members; /* in the agent's body */
	bool inserted;    /* a member was put in front of them */
	bool out_of_room; /* `texts` was too small: the edits are of no use */
};

/* False: the body is no JSON object. */
bool edit_begin(struct request_edit *e, struct span body,
		const struct json_index *index, struct splice_list *splices,
		struct buf *texts);

/* Null is what a client prints for "not set". */
bool edit_is_set(const struct request_edit *e, enum request_member m);
bool edit_is_true(const struct request_edit *e, enum request_member m);

size_t edit_offset(const struct request_edit *e, struct span part);

/* A text that lives as long as the splices. */
struct span edit_keep(struct request_edit *e, const char *before,
		      struct span text, const char *after);

void edit_replace(struct request_edit *e, struct json_value old,
		  struct span value);

/* Give the member this value, whether it was there or not. */
void edit_set(struct request_edit *e, enum request_member m, struct span value);

/*
 * Set one member of an object that is itself a member, which may be absent.
 * False when it already had that value.
 */
bool edit_set_in_object(struct request_edit *e, enum request_member m,
			const char *key, const char *value);

#endif
