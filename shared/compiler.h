#ifndef SHARED_COMPILER_H
#define SHARED_COMPILER_H

#include <stdbool.h>
#include <stddef.h>

/* What the compiler can check or tell us beyond C11. */

#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define MUST_USE               __attribute__((warn_unused_result))
#define NO_RETURN              __attribute__((noreturn))
#define UNUSED                 __attribute__((unused))

#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

/* The struct that holds `member`, from a pointer to the member. */
#define CONTAINER_OF(ptr, type, member) \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
