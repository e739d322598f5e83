#ifndef PROXY_TOKEN_STATUS_H
#define PROXY_TOKEN_STATUS_H

#include "proxy/assemble.h"
#include "shared/turn.h"

/*
 * What the tokens of an answer are worth: do its ids, its log-probabilities and
 * the usage that the server tells agree?  To be asked before the lists of the
 * choices are closed.
 */
enum token_status token_status_of(const struct assembler *a);

#endif
