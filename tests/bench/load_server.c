/*
 * A model server to measure with: streams of chat-completion events as vLLM
 * prints them, with the log-probabilities of five alternatives, each event a
 * chunk of its own as uvicorn sends them.  All are made before the first
 * request, so that little is left to do than to write.
 *
 * A request says in its first bytes what it wants, "events=N,pace=US" (in the
 * name of the model, say).  Events that are paced tell in their id when they
 * were written, in nanoseconds; the others leave as fast as they are taken.
 *
 *	load_server		prints its port, serves until it is killed
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/mem.h"

#define EVENTS       32768 /* different ones */
#define RUN          256   /* unpaced events in a write */
#define CONNECTIONS  1024
#define HEAD_KEPT    8192
#define COUNT_DIGITS 10
#define STAMP        16 /* digits */
#define STAMP_RANGE  10000000000000000u

static const char id_start[] = "data: {\"id\":\"chatcmpl-";

static const char head[] = "HTTP/1.1 200 OK\r\n"
			   "content-type: text/event-stream; charset=utf-8\r\n"
			   "transfer-encoding: chunked\r\n\r\n";

struct connection {
	int fd;
	char head[HEAD_KEPT + 1]; /* of the request */
	size_t got, need;         /* bytes of it; need 0: not known yet */
	bool answering;
	uint64_t events_left;
	uint64_t pace_ns, due_ns;
	size_t next;     /* event */
	const char *out; /* being written */
	size_t out_len;
	bool asks_for_usage;
	uint64_t events_asked;
	bool at_tail;
	bool wants_write;
};

static struct buf ring, tail, tail_with_usage;
static size_t offsets[EVENTS + 1];
static struct connection *connections[CONNECTIONS];
static size_t connection_count;
static int poll_fd, timer_fd;
static char paced[4096]; /* the one event that is being stamped */

static NO_RETURN void die(const char *what)
{
	fprintf(stderr, "load_server: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void must(bool ok)
{
	if (!ok)
		die("out of room");
}

static void add_chunk(struct buf *to, const struct buf *data)
{
	struct error err;

	must(buf_addf(to, &err, "%zx\r\n", data->len) &&
	     buf_add(to, buf_span(data), &err) &&
	     buf_add(to, SPAN("\r\n"), &err));
}

/* A token, its log-probability as a float printed as a double, its bytes. */
static void add_token(struct buf *to, const char *token, double logprob)
{
	struct error err;

	must(buf_addf(to, &err,
		      "{\"token\":\"%s\",\"logprob\":%.17g,\"bytes\":[", token,
		      logprob));
	for (const char *p = token; *p; p++)
		must(buf_addf(to, &err, "%s%d", p == token ? "" : ",", *p));
	must(buf_add(to, SPAN("]"), &err));
}

static void random_token(char token[8])
{
	size_t len = 2 + (size_t)rand() % 5;

	for (size_t i = 0; i < len; i++)
		token[i] = (char)('a' + rand() % 26);
	token[0] = ' ';
	token[len] = '\0';
}

static double random_logprob(int rank)
{
	return (double)-(float)(rank * 2.1 + (double)rand() / RAND_MAX);
}

static void begin_event(struct buf *to)
{
	struct error err;

	must(buf_addf(to, &err,
		      "%s%0*d\",\"object\":\"chat.completion.chunk\","
		      "\"created\":1790000000,\"model\":\"qwen3-8b\",",
		      id_start, STAMP, 0));
}

static void make_event(struct buf *to, bool last)
{
	double logprob = random_logprob(0);
	struct error err;
	char token[8];

	random_token(token);
	begin_event(to);
	must(buf_addf(to, &err,
		      "\"choices\":[{\"index\":0,\"delta\":{\"content\":"
		      "\"%s\"},\"logprobs\":{\"content\":[",
		      token));
	add_token(to, token, logprob);
	must(buf_add(to, SPAN(",\"top_logprobs\":["), &err));
	for (int rank = 0; rank < 5; rank++) {
		if (rank) {
			random_token(token);
			logprob = random_logprob(rank);
			must(buf_add(to, SPAN(","), &err));
		}
		add_token(to, token, logprob);
		must(buf_add(to, SPAN("}"), &err));
	}
	must(buf_addf(to, &err,
		      "]}]},\"finish_reason\":%s,%s\"token_ids\":[%d]}],"
		      "\"kv_transfer_params\":null}\n\n",
		      last ? "\"stop\"" : "null",
		      last ? "\"stop_reason\":null," : "", rand() % 150000));
}

/* The usage has no digits yet. */
static void make_tail(struct buf *to, bool with_usage)
{
	struct error err;
	struct buf event;

	buf_init(to, 64u << 10);
	buf_init(&event, sizeof(paced));
	make_event(&event, true);
	add_chunk(to, &event);
	if (with_usage) {
		buf_clear(&event);
		begin_event(&event);
		must(buf_addf(&event, &err,
			      "\"choices\":[],\"usage\":{\"prompt_tokens\":9,"
			      "\"completion_tokens\":%*d},"
			      "\"system_fingerprint\":\"vllm-0.33.0\"}\n\n",
			      COUNT_DIGITS, 0));
		add_chunk(to, &event);
	}
	buf_clear(&event);
	must(buf_add(&event, SPAN("data: [DONE]\n\n"), &err));
	add_chunk(to, &event);
	must(buf_add(to, SPAN("0\r\n\r\n"), &err));
	buf_release(&event);
}

static void make_events(void)
{
	struct buf event;

	buf_init(&event, sizeof(paced));
	buf_init(&ring, 64u << 20);
	for (size_t i = 0; i < EVENTS; i++) {
		buf_clear(&event);
		make_event(&event, false);
		offsets[i] = ring.len;
		add_chunk(&ring, &event);
	}
	offsets[EVENTS] = ring.len;
	make_tail(&tail, false);
	make_tail(&tail_with_usage, true);
	buf_release(&event);
}

static void watch(struct connection *c, bool write, int operation)
{
	struct epoll_event event = {
		.events = EPOLLIN | (write ? (uint32_t)EPOLLOUT : 0),
		.data.ptr = c,
	};

	c->wants_write = write;
	if (epoll_ctl(poll_fd, operation, c->fd, &event) < 0)
		die("epoll_ctl");
}

static void drop(struct connection *c)
{
	for (size_t i = 0; i < connection_count; i++)
		if (connections[i] == c)
			connections[i] = connections[--connection_count];
	close(c->fd);
	free(c);
}

/* Without `write` set in epoll it is tried at once. */
static bool write_some(struct connection *c)
{
	while (c->out_len) {
		ssize_t put = send(c->fd, c->out, c->out_len, MSG_NOSIGNAL);

		if (put < 0) {
			if (errno != EAGAIN)
				return false;
			if (!c->wants_write)
				watch(c, true, EPOLL_CTL_MOD);
			return true;
		}
		c->out += put;
		c->out_len -= (size_t)put;
	}
	return true;
}

static void take_run(struct connection *c)
{
	size_t count = EVENTS - c->next;

	if (count > RUN)
		count = RUN;
	if (count > c->events_left)
		count = c->events_left;
	c->out = ring.data + offsets[c->next];
	c->out_len = offsets[c->next + count] - offsets[c->next];
	c->next = (c->next + count) % EVENTS;
	c->events_left -= count;
}

/* The due event into `paced`; one that was not yet taken is lost. */
static void take_stamped(struct connection *c)
{
	size_t len = offsets[c->next + 1] - offsets[c->next];
	char stamp[STAMP + 8];
	char *id;

	memcpy(paced, ring.data + offsets[c->next], len);
	id = memmem(paced, len, id_start, sizeof(id_start) - 1);
	snprintf(stamp, sizeof(stamp), "%0*llu", STAMP,
		 (unsigned long long)(now_ns() % STAMP_RANGE));
	memcpy(id + sizeof(id_start) - 1, stamp, STAMP);
	c->next = (c->next + 1) % EVENTS;
	c->events_left--;
	c->due_ns += c->pace_ns;
	c->out = paced;
	c->out_len = len;
}

static void take_tail(struct connection *c)
{
	static const char name[] = "\"completion_tokens\":";
	const struct buf *to = c->asks_for_usage ? &tail_with_usage : &tail;

	if (c->asks_for_usage) {
		char *count = strstr(to->data, name) + sizeof(name) - 1;
		char digits[COUNT_DIGITS + 16];

		snprintf(digits, sizeof(digits), "%*llu", COUNT_DIGITS,
			 (unsigned long long)c->events_asked + 1);
		memcpy(count, digits, COUNT_DIGITS);
	}
	c->out = to->data;
	c->out_len = to->len;
	c->at_tail = true;
}

/* Write what may be written now; false: the peer is gone. */
static bool serve(struct connection *c)
{
	while (c->answering) {
		if (!write_some(c))
			return false;
		if (c->out_len) {
			if (c->out >= paced && c->out < paced + sizeof(paced))
				die("a paced event was not taken at once");
			return true;
		}
		if (c->at_tail) {
			c->answering = c->at_tail = false;
			c->got = c->need = 0;
		} else if (!c->events_left) {
			take_tail(c);
		} else if (!c->pace_ns) {
			take_run(c);
		} else if (c->due_ns <= now_ns()) {
			take_stamped(c);
		} else {
			break;
		}
	}
	if (c->wants_write)
		watch(c, false, EPOLL_CTL_MOD);
	return true;
}

static uint64_t number_after(const char *text, const char *name)
{
	const char *found = strstr(text, name);

	return found ? strtoull(found + strlen(name), NULL, 10) : 0;
}

static void begin_answer(struct connection *c)
{
	static uint64_t phase;
	static size_t first;

	c->events_left = number_after(c->head, "events=");
	c->events_asked = c->events_left;
	c->asks_for_usage = strstr(c->head, "\"include_usage\":true");
	c->pace_ns = number_after(c->head, "pace=") * 1000;
	if (c->pace_ns) {
		/* Streams are not in step with each other. */
		phase += c->pace_ns * 618 / 1000;
		c->due_ns = now_ns() + phase % c->pace_ns;
	}
	/* Each goes on where the last one ends: a rollout repeats none. */
	c->next = first;
	first = (first + c->events_left) % EVENTS;
	c->out = head;
	c->out_len = sizeof(head) - 1;
	c->answering = true;
}

static void find_length(struct connection *c)
{
	const char *end = strstr(c->head, "\r\n\r\n");
	const char *field = strcasestr(c->head, "\r\ncontent-length:");

	if (!end)
		return;
	c->need = (size_t)(end + 4 - c->head);
	if (field)
		c->need += strtoull(field + 17, NULL, 10);
}

static bool take_request(struct connection *c)
{
	static char body[256 << 10];

	while (!c->answering) {
		bool in_head = c->got < HEAD_KEPT;
		ssize_t len = in_head ? recv(c->fd, c->head + c->got,
					     HEAD_KEPT - c->got, 0)
				      : recv(c->fd, body, sizeof(body), 0);

		if (len < 0 && errno == EAGAIN)
			return true;
		if (len <= 0)
			return false;
		c->got += (size_t)len;
		if (in_head)
			c->head[c->got] = '\0';
		if (!c->need)
			find_length(c);
		if (c->need && c->got >= c->need)
			begin_answer(c);
	}
	return true;
}

static void accept_all(int listener)
{
	int fd, one = 1;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
		struct connection *c = xcalloc(1, sizeof(*c));

		if (connection_count == CONNECTIONS)
			die("too many connections");
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		c->fd = fd;
		connections[connection_count++] = c;
		watch(c, false, EPOLL_CTL_ADD);
	}
}

static void serve_due(void)
{
	uint64_t now = now_ns();

	for (size_t i = connection_count; i-- > 0;)
		if (connections[i]->answering && connections[i]->pace_ns &&
		    connections[i]->due_ns <= now && !serve(connections[i]))
			drop(connections[i]);
}

static void arm_timer(void)
{
	struct itimerspec at = { 0 };
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < connection_count; i++)
		if (connections[i]->answering && connections[i]->pace_ns &&
		    connections[i]->due_ns < first)
			first = connections[i]->due_ns;
	if (first != UINT64_MAX) {
		at.it_value.tv_sec = (time_t)(first / 1000000000);
		at.it_value.tv_nsec = (long)(first % 1000000000);
	}
	timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static int listen_anywhere(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

	if (bind(fd, (struct sockaddr *)&address, len) < 0 ||
	    listen(fd, CONNECTIONS) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		die("listen");
	/* By now there is everything to answer with. */
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	return fd;
}

static void serve_ready(struct connection *c, uint32_t events)
{
	bool ok = true;

	if (events & (EPOLLHUP | EPOLLERR)) {
		drop(c);
		return;
	}
	if (!c->answering)
		ok = take_request(c);
	if (ok && c->answering)
		ok = serve(c);
	if (!ok)
		drop(c);
}

int main(void)
{
	struct epoll_event events[256];
	struct connection accepting, timer;
	int listener;

	make_events();
	listener = listen_anywhere();
	accepting = (struct connection){ .fd = listener };
	poll_fd = epoll_create1(0);
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	timer = (struct connection){ .fd = timer_fd };
	watch(&accepting, false, EPOLL_CTL_ADD);
	watch(&timer, false, EPOLL_CTL_ADD);
	for (;;) {
		int count = epoll_wait(poll_fd, events, ARRAY_LEN(events), -1);

		for (int i = 0; i < count; i++) {
			struct connection *c = events[i].data.ptr;

			if (c == &accepting)
				accept_all(listener);
			else if (c != &timer)
				serve_ready(c, events[i].events);
		}
		serve_due();
		arm_timer();
	}
}
