/* Lines to stderr, with the secrets taken out. */
#include "shared/log.h"

#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/clock.h"
#include "shared/mem.h"

#define LINE_MAXIMUM   2048
#define SECRET_MINIMUM 12 /* see log_mask() */

static enum log_level threshold = LOG_WARN;

/* The longer first: one may begin with another. */
static char **secrets;
static size_t secret_count;

/* Room that one thread finds is not for the line of another. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned lost; /* lines for which stderr had no room */

void log_set_level(enum log_level level)
{
	threshold = level;
}

static bool is_known(const char *secret)
{
	for (size_t i = 0; i < secret_count; i++)
		if (!strcmp(secrets[i], secret))
			return true;
	return false;
}

void log_mask(const char *secret)
{
	size_t i;

	if (!secret || strlen(secret) < SECRET_MINIMUM || is_known(secret))
		return;
	secrets = xrealloc_array(secrets, secret_count + 1, sizeof(*secrets));
	for (i = secret_count++; i; i--) {
		if (strlen(secrets[i - 1]) >= strlen(secret))
			break;
		secrets[i] = secrets[i - 1];
	}
	secrets[i] = xstrdup(secret);
}

bool log_mask_bytes(char *bytes, size_t len)
{
	char *end = bytes + len;
	bool found = false;

	for (size_t i = 0; i < secret_count; i++) {
		size_t size = strlen(secrets[i]);
		char *at = bytes;

		while ((at = memmem(at, (size_t)(end - at), secrets[i],
				    size))) {
			memset(at, '*', size);
			at += size;
			found = true;
		}
	}
	return found;
}

void log_masked(char *text)
{
	log_mask_bytes(text, strlen(text));
}

void log_mask_clear(void)
{
	for (size_t i = 0; i < secret_count; i++) {
		mem_wipe(secrets[i], strlen(secrets[i]));
		free(secrets[i]);
	}
	free(secrets);
	secrets = NULL;
	secret_count = 0;
}

/* An error is: the write will tell. */
static bool has_room(void)
{
	struct pollfd fd = { .fd = STDERR_FILENO, .events = POLLOUT };

	return poll(&fd, 1, 0) != 0;
}

static PRINTF_LIKE(3, 0) void write_line(enum log_level level,
					 const char *scope, const char *fmt,
					 va_list args)
{
	static const char *const names[] = { "error", "warn", "info", "debug" };
	char stamp[CLOCK_UTC_SIZE + 1] = "";
	char *text;

	if (level > threshold || vasprintf(&text, fmt, args) < 0)
		return;
	/* Before the line is cut: the cut may go through a secret. */
	log_masked(text);
	if (!isatty(STDERR_FILENO)) {
		clock_format_utc(clock_wall_us(), stamp);
		stamp[CLOCK_UTC_SIZE - 1] = ' ';
		stamp[CLOCK_UTC_SIZE] = '\0';
	}
	pthread_mutex_lock(&mutex);
	if (has_room() && lost) {
		fprintf(stderr,
			"%swarn log: %u lines before this one are "
			"lost, as stderr was not read\n",
			stamp, lost);
		lost = 0;
	}
	if (has_room())
		fprintf(stderr, "%s%s %s: %.*s\n", stamp, names[level], scope,
			LINE_MAXIMUM, text);
	else
		lost++;
	pthread_mutex_unlock(&mutex);
	free(text);
}

#define DEFINE_LOG(name, level)                            \
	void name(const char *scope, const char *fmt, ...) \
	{                                                  \
		va_list args;                              \
                                                           \
		va_start(args, fmt);                       \
		write_line(level, scope, fmt, args);       \
		va_end(args);                              \
	}

DEFINE_LOG(log_error, LOG_ERROR)
DEFINE_LOG(log_warn, LOG_WARN)
DEFINE_LOG(log_info, LOG_INFO)
DEFINE_LOG(log_debug, LOG_DEBUG)
