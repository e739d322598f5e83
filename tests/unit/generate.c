/* Seeded JSON. */
#include "tests/unit/generate.h"

#include <string.h>

#include "tests/unit/vectors.h"

struct rng rng_seeded(uint64_t seed)
{
	return (struct rng){ .state = seed * 2 + 1 };
}

/* splitmix64 */
uint64_t rng_next(struct rng *rng)
{
	uint64_t z = rng->state += 0x9E3779B97F4A7C15u;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}

size_t rng_below(struct rng *rng, size_t count)
{
	return (size_t)(rng_next(rng) % count);
}

bool rng_one_in(struct rng *rng, size_t count)
{
	return rng_below(rng, count) == 0;
}

void rng_shuffle(struct rng *rng, size_t *items, size_t count)
{
	for (size_t i = count; i > 1; i--) {
		size_t k = rng_below(rng, i);
		size_t saved = items[i - 1];

		items[i - 1] = items[k];
		items[k] = saved;
	}
}

void gen_space(struct rng *rng, struct buf *out)
{
	static const char *const spaces[] = { "",  "",   "",       "",  " ",
					      " ", "\n", "\r\n\t", "  " };

	put(out, span_of(RNG_PICK(rng, spaces)));
}

void gen_string(struct rng *rng, struct buf *out)
{
	static const char *const pieces[] = {
		"a",
		"Hello, world",
		" ",
		"logprobs",
		"token_ids",
		"[DONE]",
		"data: ",
		"\\\"",
		"\\\\",
		"\\/",
		"\\n\\r\\t",
		"\\b\\f",
		"\\u0000",
		"\\u001f",
		"\\ud800",
		"\\uDFFF",
		"\\ud83d\\ude00",
		"\\u006c",
		"\xC3\xA9",
		"\xE2\x80\xA8",
		"\xF0\x9F\x98\x80",
		"\x7F",
		"{\\\"",
		"},",
		"]",
		":",
	};

	put(out, SPAN("\""));
	for (size_t n = rng_below(rng, 5); n; n--)
		put(out, span_of(RNG_PICK(rng, pieces)));
	put(out, SPAN("\""));
}

void gen_number(struct rng *rng, struct buf *out)
{
	static const char *const numbers[] = {
		"0",
		"-0",
		"1",
		"-0.0",
		"4096",
		"-1.5e3",
		"9007199254740993",
		"0.30000000000000004",
		"1E+2",
		"1e400",
		"-1e-400",
		"18446744073709551616",
		"0.1234567890123456789012345678901234567890123456789012345678"
		"901234567890",
	};

	put(out, span_of(RNG_PICK(rng, numbers)));
}

static void gen_members(struct rng *rng, struct buf *out, unsigned depth,
			bool keys)
{
	for (size_t n = rng_below(rng, 4); n; n--) {
		gen_space(rng, out);
		if (keys) {
			gen_string(rng, out);
			gen_space(rng, out);
			put(out, SPAN(":"));
			gen_space(rng, out);
		}
		gen_value(rng, out, depth);
		gen_space(rng, out);
		if (n > 1)
			put(out, SPAN(","));
	}
	gen_space(rng, out);
}

void gen_value(struct rng *rng, struct buf *out, unsigned depth)
{
	static const char *const words[] = { "true", "false", "null" };

	switch (rng_below(rng, depth ? 5 : 3)) {
	case 0:
		gen_string(rng, out);
		break;
	case 1:
		gen_number(rng, out);
		break;
	case 2:
		put(out, span_of(RNG_PICK(rng, words)));
		break;
	case 3:
		put(out, SPAN("{"));
		gen_members(rng, out, depth - 1, true);
		put(out, SPAN("}"));
		break;
	default:
		put(out, SPAN("["));
		gen_members(rng, out, depth - 1, false);
		put(out, SPAN("]"));
		break;
	}
}

void gen_key(struct rng *rng, struct buf *out, const char *name)
{
	bool escape = rng_one_in(rng, 8);

	put(out, SPAN("\""));
	for (const char *p = name; *p; p++)
		if (escape && rng_one_in(rng, 3))
			putf(out, "\\u%04x", (unsigned char)*p);
		else
			put(out, span_from(p, 1));
	put(out, SPAN("\""));
}
