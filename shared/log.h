#ifndef SHARED_LOG_H
#define SHARED_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "shared/compiler.h"

/*
 * What the programs say to people: lines on stderr, each
 *
 *	2026-11-21T10:46:03Z warn octap-proxy: turn 3: cut: upstream ...
 *
 * or, when stderr is a terminal, without the time.  A secret that was given to
 * log_mask() never appears: it is replaced wherever it would.  The same goes
 * for any text passed through log_masked().
 *
 * A pipe that nobody empties holds nothing up: lines for which it has no room
 * are dropped, and counted in the next one that it takes.  Any thread may log.
 */
enum log_level {
	LOG_ERROR,
	LOG_WARN,
	LOG_INFO,
	LOG_DEBUG,
};

/* Print this level and the more urgent ones; the default is LOG_WARN. */
void log_set_level(enum log_level level);

/* The scope says who speaks: "octap-proxy", "rollout", "http". */
void log_error(const char *scope, const char *fmt, ...) PRINTF_LIKE(2, 3);
void log_warn(const char *scope, const char *fmt, ...) PRINTF_LIKE(2, 3);
void log_info(const char *scope, const char *fmt, ...) PRINTF_LIKE(2, 3);
void log_debug(const char *scope, const char *fmt, ...) PRINTF_LIKE(2, 3);

/*
 * Remember a secret of at least 12 characters; copied.  A shorter one is no
 * secret to us: the placeholders that servers without a key are given ("null",
 * "test", "EMPTY") are words that occur everywhere, and masking them would
 * destroy what was to be recorded.
 */
void log_mask(const char *secret);

/* Replace each remembered secret in `text` by asterisks, in place. */
void log_masked(char *text);

/* The same; true if there was one. */
bool log_mask_bytes(char *bytes, size_t len);

/* Wipe and forget the secrets. */
void log_mask_clear(void);

#endif
