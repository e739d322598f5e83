#ifndef PROXY_MEMBERS_H
#define PROXY_MEMBERS_H

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/json_scan.h"
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

/*
 * values[i] is the last member known[i], of a type that it may have or null, or
 * else JSON_NONE.  What else the object
 * has and is not null becomes an object in `rest`; `within` (or NULL) names the
 * member that this was.  What is no object has no members.
 */
bool members_pick(struct span object, const struct member *known,
		  struct json_value *values, size_t count, struct buf *rest,
		  const char *within, struct error *err) MUST_USE;

/* Add to a JSON array, which is empty or left open. */
bool list_add(struct buf *list, struct span item, struct error *err) MUST_USE;

#endif
