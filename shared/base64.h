#ifndef SHARED_BASE64_H
#define SHARED_BASE64_H

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/* Base64 with padding, RFC 4648 section 4. */
size_t base64_length(size_t bytes);
bool base64_encode(struct span bytes, struct buf *out,
		   struct error *err) MUST_USE;

#endif
