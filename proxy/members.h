#ifndef PROXY_MEMBERS_H
#define PROXY_MEMBERS_H

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/json_scan.h"
#include "shared/json_write.h"
#include "shared/span.h"

/*
 * The members of an object that something is known of, and a list of all
 * others, so that none is lost.
 */
struct member {
	const char *name;
	enum json_type type;    /* of values that can be dealt with */
	enum json_type or_type; /* JSON_NONE: no other */
};

/* The others of one object, on their way to a list of what is left over. */
struct rest {
	struct buf *list;   /* JSON array, empty or left open */
	const char *within; /* the member that the object is; or NULL */
	bool begun;
};

bool rest_add(struct rest *rest, struct span key, struct span value,
	      struct error *err) MUST_USE;
bool rest_end(const struct rest *rest, struct error *err) MUST_USE;

/*
 * values[i] is the last member known[i], of a type that it may have or null, or
 * else JSON_NONE.  What else the object has and is not null goes to the
 * list `rest`.  What is no object has no members.
 */
bool members_pick(struct span object, const struct member *known,
		  struct json_value *values, size_t count, struct buf *rest,
		  const char *within, struct error *err) MUST_USE;

/* Add to a JSON array, which is empty or left open. */
bool list_add(struct buf *list, struct span item, struct error *err) MUST_USE;

/* Write such a list, if there is any, as a member. */
void list_write(const struct buf *list, const char *key,
		struct json_writer *jw);

#endif
