#include "proxy/request_path.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* One character of a path, which may be written as %XX. */
static char take_char(struct span *path)
{
	char hex[3] = { 0 };
	char c = path->data[0];
	size_t len = 1;

	if (c == '%' && path->len >= 3 &&
	    isxdigit((unsigned char)path->data[1]) &&
	    isxdigit((unsigned char)path->data[2])) {
		memcpy(hex, path->data + 1, 2);
		c = (char)strtol(hex, NULL, 16);
		len = 3;
	}
	*path = span_after(*path, len);
	return c;
}

bool request_path_climbs(struct span path)
{
	size_t dots = 0, others = 0;

	if (!span_starts_with(path, "/"))
		return true;
	while (path.len) {
		char c = take_char(&path);

		if (c == '\\' || c == '\0')
			return true;
		if (c == '/' && dots == 2 && !others)
			return true;
		if (c == '/') {
			dots = others = 0;
			continue;
		}
		dots += c == '.';
		others += c != '.';
	}
	return dots == 2 && !others;
}

bool request_path_is_chat(struct span path)
{
	static const char wanted[] = "/chat/completions";
	char end[sizeof(wanted)] = { 0 }; /* the path's last characters */
	size_t len = sizeof(wanted) - 1;

	while (path.len) {
		char c = take_char(&path);

		if (c == '/' && !path.len)
			break;
		memmove(end, end + 1, len - 1);
		end[len - 1] = c;
	}
	return !memcmp(end, wanted, len);
}
