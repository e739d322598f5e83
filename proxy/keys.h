#ifndef PROXY_KEYS_H
#define PROXY_KEYS_H

#include "shared/compiler.h"
#include "shared/error.h"

/*
 * The two keys of a configuration.  The upstream's is looked for in a file, in
 * argv and in the environment, in this order; in the last two it is wiped, used
 * or not.  No log shows a key until they are wiped.
 */
struct config;

/* Its options are those of argv. */
bool keys_load(struct config *config, int argc, char **argv,
	       struct error *err) MUST_USE;
void keys_wipe(struct config *config);

#endif
