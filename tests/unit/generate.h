#ifndef TESTS_UNIT_GENERATE_H
#define TESTS_UNIT_GENERATE_H

#include <stdint.h>

#include "shared/buf.h"
#include "shared/compiler.h"

/*
 * Made-up input, the same in every run: a seeded generator, and JSON by RFC
 * 8259 that is as hostile as the standard allows.
 */
struct rng {
	uint64_t state;
};

struct rng rng_seeded(uint64_t seed);
uint64_t rng_next(struct rng *rng);
size_t rng_below(struct rng *rng, size_t count); /* 0 to count - 1 */
bool rng_one_in(struct rng *rng, size_t count);
void rng_shuffle(struct rng *rng, size_t *items, size_t count);

#define RNG_PICK(rng, array) ((array)[rng_below((rng), ARRAY_LEN(array))])

/* White space between tokens, often none. */
void gen_space(struct rng *rng, struct buf *out);

/* With its quotes; escapes, lone surrogates, names that octap looks for. */
void gen_string(struct rng *rng, struct buf *out);
void gen_number(struct rng *rng, struct buf *out);

/* A value of any kind, with at most `depth` levels of containers. */
void gen_value(struct rng *rng, struct buf *out, unsigned depth);

/* The same name as a key, some of its letters escaped now and then. */
void gen_key(struct rng *rng, struct buf *out, const char *name);

#endif
