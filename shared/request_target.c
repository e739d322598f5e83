/* One state for each part of an address. */
#include "shared/request_target.h"

#include <ctype.h>
#include <string.h>

#define PORT_MAX 65535

enum place {
	AT_BEGIN,
	IN_SCHEME,
	AFTER_SLASH, /* which may be the first of two, before a server */
	IN_SERVER,
	IN_PORT,
	IN_PATH, /* or behind it */
};

void request_target_init(struct request_target *t)
{
	*t = (struct request_target){ .scheme = "http://" };
}

static bool in_scheme(struct request_target *t, char c)
{
	if (t->len == strlen("http") && c == 's')
		t->scheme = "https://";
	t->place = IN_SCHEME;
	if (c != t->scheme[t->len++])
		return false;
	if (!t->scheme[t->len]) {
		t->place = IN_SERVER;
		t->len = 0;
	}
	return true;
}

static bool in_server(struct request_target *t, char c)
{
	if (isalnum((unsigned char)c) || c == '.' || c == '-' || c == '_') {
		t->len++;
		return true;
	}
	t->place = c == ':' ? IN_PORT : IN_PATH;
	return t->len && strchr(":/?#", c);
}

static bool in_port(struct request_target *t, char c)
{
	if (isdigit((unsigned char)c)) {
		t->port = t->port * 10 + (unsigned)(c - '0');
		return t->port <= PORT_MAX;
	}
	t->place = IN_PATH;
	return strchr("/?#", c);
}

bool request_target_add(struct request_target *t, char c)
{
	if (!c)
		return false;
	switch ((enum place)t->place) {
	case AT_BEGIN:
		if (c != '/')
			return in_scheme(t, c);
		t->place = AFTER_SLASH;
		return true;
	case IN_SCHEME:
		return in_scheme(t, c);
	case AFTER_SLASH:
		t->place = c == '/' ? IN_SERVER : IN_PATH;
		return true;
	case IN_SERVER:
		return in_server(t, c);
	case IN_PORT:
		return in_port(t, c);
	case IN_PATH:
		break;
	}
	return true;
}

bool request_target_is_whole(const struct request_target *t)
{
	return t->place >= AFTER_SLASH && (t->place != IN_SERVER || t->len);
}
