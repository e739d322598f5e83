#ifndef SHARED_HTTP_JSON_H
#define SHARED_HTTP_JSON_H

#include "shared/buf.h"
#include "shared/http_server.h"
#include "shared/json_write.h"

/*
 * A JSON answer written in place:
 *
 *	http_json_begin(&answer);
 *	jw_object_begin(&answer.jw);
 *	...
 *	http_json_send(&answer, http, 200);
 */
struct http_json {
	struct buf body;
	struct json_writer jw;
};

void http_json_begin(struct http_json *answer);

/* Ends the exchange, and the answer's own memory. */
void http_json_send(struct http_json *answer, struct http_exchange *http,
		    unsigned status);

#endif
