#ifndef TESTS_FAKE_UPSTREAM_PEER_H
#define TESTS_FAKE_UPSTREAM_PEER_H

#include <stdint.h>

#include "shared/buf.h"
#include "tests/fake/upstream_answer.h"
#include "tests/fake/upstream_plan.h"

/*
 * One connection to the fake model server: requests are read strictly by
 * RFC 9112, answered one after the other, and each event of note is a line of
 * JSON on stdout:
 *
 *	{"event":"request","number":1,"method":"POST","target":"/v1/..."}
 *	{"event":"answered","number":1}
 *	{"event":"peer_gone","number":1}	before the answer was through
 *	{"event":"malformed","number":1,"why":"..."}
 */
struct upstream_server {
	const struct upstream_settings *settings;
	uint64_t requests; /* so far */
	uint64_t calls;    /* those of them that are POST */
};

struct upstream_peer {
	struct upstream_server *server;
	int fd;
	uint64_t number; /* of its request */
	bool answering;
	bool hanging;
	uint64_t due_ms; /* of the next step; 0: none */
	struct upstream_answer answer;
	struct buf in;
	struct buf out;
};

/* Takes over the socket, which must be non-blocking. */
struct upstream_peer *upstream_peer_new(struct upstream_server *server, int fd);
void upstream_peer_free(struct upstream_peer *peer);

/* For poll(). */
short upstream_peer_wants(const struct upstream_peer *peer);

/* Go on as far as possible; false: the connection is over. */
bool upstream_peer_step(struct upstream_peer *peer, short ready);

#endif
