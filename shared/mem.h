#ifndef SHARED_MEM_H
#define SHARED_MEM_H

#include <stddef.h>

#include "shared/compiler.h"

/*
 * Memory for things of our own size.  Out of memory ends the process with a
 * message and exit code 70: there is nothing sensible left to do.  Things
 * whose size a peer decides live in a struct buf instead.
 */
void *xmalloc(size_t size) MUST_USE;
void *xcalloc(size_t count, size_t size) MUST_USE;
void *xrealloc_array(void *array, size_t count, size_t size) MUST_USE;
char *xstrdup(const char *text) MUST_USE;
char *xstrndup(const char *text, size_t len) MUST_USE;
char *xasprintf(const char *fmt, ...) MUST_USE PRINTF_LIKE(1, 2);

/* memset(0) that the compiler may not leave out, for secrets; NULL is fine. */
void mem_wipe(void *data, size_t len);

/* Compared in a time that tells nothing about where two secrets differ. */
bool secret_equals(const char *a, const char *b);

#endif
