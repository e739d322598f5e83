/*
 * A model server that says what it is told to, faults of the wire included: for
 * the tests.  It prints {"event":"listening","port":N}, then one line for each
 * event (upstream_peer.h), and ends on SIGTERM.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/clock.h"
#include "shared/mem.h"
#include "tests/fake/upstream_peer.h"
#include "tests/fake/upstream_plan.h"

struct peers {
	struct upstream_peer **items;
	struct pollfd *polls; /* the listener, then one for each peer */
	size_t count;
};

static volatile sig_atomic_t stopped;

static void on_signal(int number UNUSED)
{
	stopped = 1;
}

static int listen_on(uint64_t port, struct error *err)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int one = 1;

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, 1024) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) < 0) {
		error_set_errno(err, errno, "listen");
		return -1;
	}
	printf("{\"event\":\"listening\",\"port\":%u}\n",
	       ntohs(address.sin_port));
	fflush(stdout);
	return fd;
}

static void accept_one(struct peers *peers, struct upstream_server *server)
{
	int fd = accept4(peers->polls[0].fd, NULL, NULL,
			 SOCK_NONBLOCK | SOCK_CLOEXEC);
	int one = 1;

	if (fd < 0)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	peers->items = xrealloc_array(peers->items, peers->count + 1,
				      sizeof(*peers->items));
	peers->polls = xrealloc_array(peers->polls, peers->count + 2,
				      sizeof(*peers->polls));
	peers->items[peers->count++] = upstream_peer_new(server, fd);
	peers->polls[peers->count] = (struct pollfd){ .fd = fd };
}

static void remove_peer(struct peers *peers, size_t i)
{
	upstream_peer_free(peers->items[i]);
	peers->count--;
	peers->items[i] = peers->items[peers->count];
	peers->polls[i + 1] = peers->polls[peers->count + 1];
}

/* Until the next peer is due; -1: none is. */
static int time_left(const struct peers *peers)
{
	uint64_t now = clock_monotonic_ms();
	int left = -1;

	for (size_t i = 0; i < peers->count; i++) {
		const struct upstream_peer *p = peers->items[i];
		int ms = p->due_ms > now ? (int)(p->due_ms - now) : 0;

		if (p->due_ms && !p->out.len && (left < 0 || ms < left))
			left = ms;
	}
	return left;
}

static void wait_for_events(struct peers *peers, const sigset_t *signals)
{
	int ms = time_left(peers);
	struct timespec timeout = { ms / 1000, ms % 1000 * 1000000L };

	for (size_t i = 0; i < peers->count; i++)
		peers->polls[i + 1].events =
			upstream_peer_wants(peers->items[i]);
	if (ppoll(peers->polls, peers->count + 1, ms < 0 ? NULL : &timeout,
		  signals) < 0)
		for (size_t i = 0; i <= peers->count; i++)
			peers->polls[i].revents = 0;
}

static void run(struct upstream_server *server, int listener)
{
	struct peers peers = { .polls = xcalloc(1, sizeof(*peers.polls)) };
	sigset_t ours, before;

	peers.polls[0] = (struct pollfd){ .fd = listener, .events = POLLIN };
	sigemptyset(&ours);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGINT);
	sigprocmask(SIG_BLOCK, &ours, &before);
	sigaction(SIGTERM, &(struct sigaction){ .sa_handler = on_signal },
		  NULL);
	sigaction(SIGINT, &(struct sigaction){ .sa_handler = on_signal }, NULL);
	while (!stopped) {
		wait_for_events(&peers, &before);
		for (size_t i = peers.count; i-- > 0;)
			if (!upstream_peer_step(peers.items[i],
						peers.polls[i + 1].revents &
							~POLLOUT))
				remove_peer(&peers, i);
		if (peers.polls[0].revents)
			accept_one(&peers, server);
	}
	while (peers.count)
		remove_peer(&peers, peers.count - 1);
	free(peers.items);
	free(peers.polls);
}

int main(int argc, char **argv)
{
	struct upstream_settings settings;
	struct upstream_server server = { .settings = &settings };
	struct error err;
	int listener, code = 0;

	switch (upstream_settings_load(&settings, argc, argv, &err)) {
	case OPTIONS_DONE:
		break;
	case OPTIONS_BAD:
		fprintf(stderr, "upstream: %s\n", err.text);
		code = 2;
		break;
	case OPTIONS_OK:
		listener = listen_on(settings.port, &err);
		if (listener < 0) {
			fprintf(stderr, "upstream: %s\n", err.text);
			code = 1;
			break;
		}
		run(&server, listener);
		close(listener);
		break;
	}
	upstream_settings_release(&settings);
	return code;
}
