/* Allocation that does not return NULL. */
#include "shared/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

static NO_RETURN void out_of_memory(void)
{
	fputs("out of memory\n", stderr);
	exit(EX_SOFTWARE);
}

void *xmalloc(size_t size)
{
	void *data = malloc(size ? size : 1);

	if (!data)
		out_of_memory();
	return data;
}

void *xcalloc(size_t count, size_t size)
{
	void *data = calloc(count ? count : 1, size ? size : 1);

	if (!data)
		out_of_memory();
	return data;
}

void *xrealloc_array(void *array, size_t count, size_t size)
{
	void *data;

	assert(count && size);
	if (count > SIZE_MAX / size)
		out_of_memory();
	data = realloc(array, count * size);
	if (!data)
		out_of_memory();
	return data;
}

char *xstrdup(const char *text)
{
	return xstrndup(text, strlen(text));
}

char *xstrndup(const char *text, size_t len)
{
	char *copy = xmalloc(len + 1);

	memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

char *xasprintf(const char *fmt, ...)
{
	char *text;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		out_of_memory();
	va_end(args);
	return text;
}

void mem_wipe(void *data, size_t len)
{
	if (data)
		explicit_bzero(data, len);
}

bool secret_equals(const char *a, const char *b)
{
	size_t len = strlen(a);
	unsigned char difference = len != strlen(b);

	/* Of unequal lengths the first is compared with itself. */
	b = difference ? a : b;
	for (size_t i = 0; i < len; i++)
		difference |= (unsigned char)(a[i] ^ b[i]);
	return !difference;
}
