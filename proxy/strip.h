#ifndef PROXY_STRIP_H
#define PROXY_STRIP_H

#include "proxy/dialect.h"
#include "proxy/splice.h"
#include "shared/compiler.h"
#include "shared/json_scan.h"
#include "shared/span.h"

/*
 * Takes out of an answer what is only there because the proxy asked for it, so
 * that the agent gets, byte for byte, what the server would have sent it.
 *
 * A member that we asked for becomes null where that server prints null
 * unasked, else it is cut with one adjoining comma.  An event that then carries
 * nothing is dropped whole: an empty delta that only bore tokens, the usage
 * event.
 *
 * Set the flags from the rewrite, then call once for each event's data or once
 * for a whole body.  What a call tells lasts until the next.
 */
struct strip {
	bool logprobs;
	bool token_ids;
	bool usage;
	bool sglext;                    /* SGLang's event with the token ids */
	const struct dialect *dialect;  /* as far as it is known */
	bool null_seen;                 /* an unasked `logprobs:null` came */
	const struct json_index *index; /* of the next text, or NULL */

	/* About the last text: */
	struct splice_list splices;
	bool finishes;     /* it has a finish_reason */
	struct span moved; /* of a dropped usage event: "NAME":VALUE that
			      belongs into the finishing event; or empty */
	size_t moved_at;   /* of a finishing event: where that goes */
};

enum strip_result {
	STRIP_KEEP, /* as it stands */
	STRIP_EDIT, /* with the splices applied */
	STRIP_DROP, /* not at all */
};

enum strip_result strip_event(struct strip *strip, struct span data);
enum strip_result strip_response(struct strip *strip, struct span body);
void strip_release(struct strip *strip);

/* Must finishing events wait for the usage event, to take `moved` in? */
bool strip_moves_member(const struct strip *strip);

#endif
