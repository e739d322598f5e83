#ifndef TESTS_UNIT_GENERATE_ANSWER_H
#define TESTS_UNIT_GENERATE_ANSWER_H

#include <stdint.h>

#include "proxy/rewrite.h"
#include "shared/buf.h"

/*
 * Made-up answers of servers of every dialect, in pairs: what a server prints
 * when the proxy asks for its members (`asked`), and when it does not.  White
 * space, the order of members, escapes in keys, members given twice, line ends
 * and the lines beside the data are any that the standards allow.
 */
struct made_answer {
	struct rewrite rewrite; /* what was asked for */
	struct buf asked, plain;
};

void made_stream(struct made_answer *answer, uint64_t seed);
void made_whole(struct made_answer *answer, uint64_t seed);
void made_release(struct made_answer *answer);

#endif
