#ifndef PROXY_SPLICE_H
#define PROXY_SPLICE_H

#include <stddef.h>

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * Edits to a text that must otherwise not change by a byte.
 *
 * A splice cuts bytes out of a source and puts a text in their place; either
 * may be empty.  Offsets always mean the untouched source.  The list borrows
 * its texts: they must live until it was applied or cleared.
 */
struct splice {
	size_t at;        /* offset in the source */
	size_t cut;       /* bytes taken out there */
	struct span text; /* put in instead */
};

struct splice_list {
	struct splice *items; /* by rising offset, insertions before cuts */
	size_t count;
	size_t alloc;
};

#define SPLICE_LIST_INIT      \
	{                     \
		.items = NULL \
	}

void splice_release(struct splice_list *list);
void splice_clear(struct splice_list *list);

void splice_insert(struct splice_list *list, size_t at, struct span text);
void splice_replace(struct splice_list *list, size_t at, size_t cut,
		    struct span text);
void splice_remove(struct splice_list *list, size_t at, size_t cut);

/* Add the edited source to `out`.  Cuts must not overlap (asserted). */
bool splice_apply(const struct splice_list *list, struct span source,
		  struct buf *out, struct error *err) MUST_USE;

/*
 * How many bytes of the edited source, `len` long before, come from its offset
 * `at` on or are put in there.
 */
size_t splice_length_from(const struct splice_list *list, size_t len,
			  size_t at);

/*
 * Taking members out of a JSON object, with exactly one adjoining comma each
 * and the white space between, while walking it:
 *
 *	struct member_cutter cutter;
 *
 *	cutter_begin(&cutter, list, offset just after the "{");
 *	for each member, in order
 *		cutter_member(&cutter, start of key, end of value, remove);
 *	cutter_end(&cutter);
 *
 * A removed member goes with what separates it from the next one that stays;
 * those after the last that stays go with what separates them from it.
 */
struct member_cutter {
	struct splice_list *list;
	size_t kept_end; /* where the last kept member ended */
	size_t cut_from; /* where the run of removed members began */
	size_t cut_to;   /* where it ended so far */
	bool cutting;
	bool kept_any;
};

void cutter_begin(struct member_cutter *cutter, struct splice_list *list,
		  size_t inside);
void cutter_member(struct member_cutter *cutter, size_t start, size_t end,
		   bool remove);
void cutter_end(struct member_cutter *cutter);

#endif
