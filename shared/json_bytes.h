#ifndef SHARED_JSON_BYTES_H
#define SHARED_JSON_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "shared/compiler.h"

/*
 * Runs of bytes in JSON, passed over many at a time; for json_grammar.c and
 * json_scan.c.  Reading spends its time here, so all of it is inlined.
 *
 * Each json_skip_*() takes where to begin and where the text ends, and returns
 * where the run does.
 */
static inline const char *json_skip_space(const char *p, const char *end)
{
	/* Nearly always there is none, and one comparison tells. */
	while (p < end && (unsigned char)*p <= ' ' &&
	       (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
		p++;
	return p;
}

static inline bool json_is_digit(const char *p, const char *end)
{
	return p < end && *p >= '0' && *p <= '9';
}

/* Eight bytes as a number, the first as its lowest. */
static inline uint64_t load8(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;

	return (uint64_t)u[0] | (uint64_t)u[1] << 8 | (uint64_t)u[2] << 16 |
	       (uint64_t)u[3] << 24 | (uint64_t)u[4] << 32 |
	       (uint64_t)u[5] << 40 | (uint64_t)u[6] << 48 |
	       (uint64_t)u[7] << 56;
}

#define EACH(byte) (0x0101010101010101u * (byte))

/* The lowest mark is right, and that is all we ask for. */
static inline uint64_t mark_others_than_digits(uint64_t bytes)
{
	bytes ^= EACH('0');
	return ((bytes + EACH(0x80 - 10)) | bytes) & EACH(0x80);
}

static inline size_t first_marked(uint64_t marks)
{
	return (size_t)__builtin_ctzll(marks) / 8;
}

#ifdef __SSE2__

#define BLOCK 16

/* All bits of those that are not plain. */
static inline __m128i special_bytes(const char *p)
{
	__m128i bytes = _mm_loadu_si128((const __m128i *)p);

	return _mm_or_si128(
		_mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
			     _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))),
		_mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)),
			       bytes));
}

/* How many plain bytes come first; BLOCK: all are. */
static inline size_t plain_prefix(const char *p)
{
	return (size_t)__builtin_ctz(
		(unsigned)_mm_movemask_epi8(special_bytes(p)) | 1u << BLOCK);
}

/* Four blocks at a time; what is left has a special byte soon. */
static inline const char *skip_plain_blocks(const char *p, const char *end)
{
	for (; end - p >= 4 * BLOCK; p += 4 * BLOCK) {
		__m128i a = _mm_or_si128(special_bytes(p),
					 special_bytes(p + BLOCK));
		__m128i b = _mm_or_si128(special_bytes(p + 2 * BLOCK),
					 special_bytes(p + 3 * BLOCK));

		if (_mm_movemask_epi8(_mm_or_si128(a, b)))
			break;
	}
	return p;
}

#else

#define BLOCK 8

/*
 * Of eight bytes, the high bits of those that are zero; of the bytes that
 * follow a zero any.  So the lowest bit is right, and that is all we ask for.
 */
static inline uint64_t mark_zeros(uint64_t bytes)
{
	return (bytes - EACH(0x01)) & ~bytes & EACH(0x80);
}

static inline size_t plain_prefix(const char *p)
{
	uint64_t bytes = load8(p);
	uint64_t special = mark_zeros(bytes ^ EACH('"')) |
			   mark_zeros(bytes ^ EACH('\\')) |
			   ((bytes - EACH(0x20)) & ~bytes & EACH(0x80));

	return special ? first_marked(special) : BLOCK;
}

static inline const char *skip_plain_blocks(const char *p,
					    const char *end UNUSED)
{
	return p;
}

#endif

/* To the first quote, backslash or control byte, or the end. */
static inline const char *json_skip_plain(const char *p, const char *end)
{
	while (end - p >= BLOCK) {
		size_t len = plain_prefix(p);

		p += len;
		if (len < BLOCK)
			return p;
		p = skip_plain_blocks(p, end);
	}
	while (p < end && (unsigned char)*p >= 0x20 && *p != '"' && *p != '\\')
		p++;
	return p;
}

/* Most numbers are short, log-probabilities long. */
static inline const char *json_skip_digits(const char *p, const char *end)
{
	for (int i = 0; i < 4; i++, p++)
		if (!json_is_digit(p, end))
			return p;
	for (; end - p >= 8; p += 8) {
		uint64_t marks = mark_others_than_digits(load8(p));

		if (marks)
			return p + first_marked(marks);
	}
	while (json_is_digit(p, end))
		p++;
	return p;
}

#undef EACH
#undef BLOCK

#endif
