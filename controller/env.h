#ifndef CONTROLLER_ENV_H
#define CONTROLLER_ENV_H

/*
 * Environments for jobs in a sandbox: "NAME=value" strings, NULL-terminated.
 * Nothing of the host's own environment is in them.
 */

/* `first`, then what of `second` has another name; borrows the strings. */
const char **env_merge(const char *const *first, const char *const *second);

/* What every job gets: HOME, PATH and the like. */
extern const char *const env_base[];

#endif
