/* Base64, RFC 4648 section 4. */
#include "shared/base64.h"

#include <stdint.h>
#include <string.h>

static const char alphabet[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

size_t base64_length(size_t bytes)
{
	return (bytes + 2) / 3 * 4;
}

bool base64_encode(struct span bytes, struct buf *out, struct error *err)
{
	if (!buf_reserve(out, base64_length(bytes.len), err))
		return false;
	for (size_t i = 0; i < bytes.len; i += 3) {
		size_t left = bytes.len - i < 3 ? bytes.len - i : 3;
		unsigned char in[3] = { 0 };
		uint32_t group;
		char text[4];

		memcpy(in, bytes.data + i, left);
		group = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];
		for (size_t k = 0; k < 4; k++)
			text[k] = k > left ? '='
					   : alphabet[group >> (18 - 6 * k) &
						      0x3F];
		if (!buf_add(out, span_from(text, 4), err))
			return false;
	}
	return true;
}
