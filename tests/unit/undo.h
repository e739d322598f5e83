#ifndef TESTS_UNIT_UNDO_H
#define TESTS_UNIT_UNDO_H

#include "proxy/splice.h"
#include "shared/buf.h"
#include "shared/span.h"

/*
 * Take splices back: what each put in is cut out of `edited` where it must be,
 * what each cut out of `source` is put in again, everything else is `edited`'s
 * own bytes.  If the edit was faithful, `out` then equals the source.  False:
 * something that was put in is not where it should be.
 */
bool undo_splices(const struct splice_list *list, struct span source,
		  struct span edited, struct buf *out);

#endif
