#ifndef PROXY_REQUEST_PATH_H
#define PROXY_REQUEST_PATH_H

#include <stdbool.h>

#include "shared/span.h"

/*
 * What the path of a request asks for, however it is spelled: any character may
 * be written as %XX.
 */

/*
 * It would climb out of the upstream's base path, with the upstream's key, or a
 * server might read it so: for a backslash, a NUL or no slash in front.
 */
bool request_path_climbs(struct span path);

/* It ends in /chat/completions, maybe with a slash behind it. */
bool request_path_is_chat(struct span path);

#endif
