#ifndef SHARED_ID_H
#define SHARED_ID_H

#include "shared/compiler.h"
#include "shared/error.h"

/*
 * Names for rollouts, and secrets nobody can guess.
 *
 * An id is 48 bits of time in milliseconds and 128 random bits, written in 36
 * lower-case characters of Crockford's base 32: ids of one host sort by the
 * time they were made.
 */
#define ID_SIZE 37 /* with the NUL */

bool id_new(char id[ID_SIZE], struct error *err) MUST_USE;

/* Bytes from the kernel's generator. */
bool random_bytes(void *bytes, size_t len, struct error *err) MUST_USE;

#endif
