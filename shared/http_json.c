/* JSON answers. */
#include "shared/http_json.h"

#include "shared/limits.h"

void http_json_begin(struct http_json *answer)
{
	buf_init(&answer->body, LIMIT_REPLY_ERROR);
	jw_init(&answer->jw, &answer->body);
}

void http_json_send(struct http_json *answer, struct http_exchange *http,
		    unsigned status)
{
	struct error err;

	/* Such answers are ours and far below the limit. */
	if (!jw_finish(&answer->jw, &err))
		buf_clear(&answer->body);
	http_reply_json(http, status, buf_span(&answer->body));
	buf_release(&answer->body);
}
