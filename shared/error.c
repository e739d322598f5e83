/*
 * struct error: a kind for the program, a text for people.  The text has a
 * fixed size, so that reporting a failure cannot fail.
 */
#include "shared/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool error_set(struct error *err, enum error_kind kind, const char *fmt, ...)
{
	va_list args;

	err->kind = kind;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	return false;
}

bool error_set_errno(struct error *err, int errnum, const char *fmt, ...)
{
	va_list args;
	size_t len;

	err->kind = ERROR_SYSTEM;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	len = strlen(err->text);
	snprintf(err->text + len, sizeof(err->text) - len, ": %s",
		 strerror(errnum));
	return false;
}

bool error_wrap(struct error *err, const char *fmt, ...)
{
	char prefix[sizeof(err->text)];
	char text[sizeof(err->text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(prefix, sizeof(prefix), fmt, args);
	va_end(args);
	memcpy(text, err->text, sizeof(text));
	if (snprintf(err->text, sizeof(err->text), "%s: %s", prefix, text) < 0)
		memcpy(err->text, text, sizeof(text));
	return false;
}

bool error_is_transient(const struct error *err)
{
	return err->kind == ERROR_TIMEOUT || err->kind == ERROR_UNAVAILABLE;
}

const char *error_kind_name(enum error_kind kind)
{
	static const char *const names[] = {
		[ERROR_NONE] = "none",
		[ERROR_USAGE] = "usage",
		[ERROR_MALFORMED] = "malformed",
		[ERROR_TOO_LARGE] = "too_large",
		[ERROR_TIMEOUT] = "timeout",
		[ERROR_ABSENT] = "absent",
		[ERROR_REFUSED] = "refused",
		[ERROR_UNAVAILABLE] = "unavailable",
		[ERROR_SYSTEM] = "system",
		[ERROR_CANCELLED] = "cancelled",
	};

	if ((size_t)kind >= ARRAY_LEN(names))
		return "unknown";
	return names[kind];
}
