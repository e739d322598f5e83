#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "shared/span.h"

/* libFuzzer's entry; tests/fuzz/replay.c calls it too. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A promise that must hold for every input. */
#define MUST(promise)            \
	do {                     \
		if (!(promise))  \
			abort(); \
	} while (0)

static inline struct span input_span(const uint8_t *data, size_t size)
{
	return span_from((const char *)data, size);
}

#endif
