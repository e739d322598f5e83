#ifndef CONTROLLER_MASK_JSON_H
#define CONTROLLER_MASK_JSON_H

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * JSON without the secrets that log_mask() was given, and JSON still: only what
 * a string says is masked, never a number, a word or a quote, whatever the
 * secret looks like.  A string without one is copied byte for byte.
 *
 * `json` must be valid.
 */
bool mask_json(struct span json, struct buf *out, struct error *err) MUST_USE;

#endif
