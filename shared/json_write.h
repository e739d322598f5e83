#ifndef SHARED_JSON_WRITE_H
#define SHARED_JSON_WRITE_H

#include <stdint.h>

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * JSON written straight into a buffer, without a tree: for trace records and
 * whatever else carries values that must be copied as text.
 *
 *	jw_init(&jw, &buf);
 *	jw_object_begin(&jw);
 *	jw_key(&jw, "turn");
 *	jw_u64(&jw, 3);
 *	jw_key(&jw, "logprobs");
 *	jw_raw(&jw, span);
 *	jw_object_end(&jw);
 *	if (!jw_finish(&jw, err))
 *		... the buffer's limit was reached
 *
 * Commas and colons are the writer's business.  Misuse (a value where a key is
 * due, an end without a begin) is a bug and asserts.  After the buffer's limit
 * was reached everything is ignored until jw_finish() says so.
 */
struct json_writer {
	struct buf *out;
	struct error err; /* the first one, if `failed` */
	bool failed;
	uint64_t objects; /* one bit a level: is it an object? */
	unsigned depth;
	bool comma;   /* the next value or key follows another */
	bool has_key; /* a key was written, its value is due */
};

#define JSON_WRITER_DEPTH 64 /* levels */

void jw_init(struct json_writer *jw, struct buf *out);
bool jw_finish(struct json_writer *jw, struct error *err) MUST_USE;

void jw_object_begin(struct json_writer *jw);
void jw_object_end(struct json_writer *jw);
void jw_array_begin(struct json_writer *jw);
void jw_array_end(struct json_writer *jw);
void jw_key(struct json_writer *jw, const char *key);
void jw_key_raw(struct json_writer *jw, struct span string); /* as JSON */

/* Bytes that are not UTF-8 become U+FFFD, one for each. */
void jw_string(struct json_writer *jw, struct span text);
void jw_cstring(struct json_writer *jw, const char *text); /* NULL: null */
void jw_u64(struct json_writer *jw, uint64_t number);
void jw_i64(struct json_writer *jw, int64_t number);
void jw_bool(struct json_writer *jw, bool value);
void jw_null(struct json_writer *jw);

/* Milliseconds as seconds with three decimals. */
void jw_seconds(struct json_writer *jw, uint64_t ms);

/* A JSON value as text, copied as it stands; an empty span writes null. */
void jw_raw(struct json_writer *jw, struct span json);

/*
 * The same as JSON Lines needs it: each line break (which JSON allows only
 * between tokens) is made a space, each byte that is not UTF-8 U+FFFD.
 */
void jw_raw_on_one_line(struct json_writer *jw, struct span json);

/* A JSON value whose text is kept without what encloses it. */
void jw_wrapped(struct json_writer *jw, const char *open, struct span inside,
		const char *close);

#endif
