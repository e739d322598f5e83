/*
 * An agent to measure with: calls to a model server or a proxy in front of it,
 * several at once, whose events are counted and timed.
 *
 *	load_client -p PORT [-k STREAMS] [-n EVENTS] [-e PACE_US]
 *		    [-b REQUEST_BYTES] [-r CALLS] [-t TEXT_FILE]
 *
 * Each of the streams makes CALLS calls, one after the other.  With a text file
 * the calls are the turns of one agent: each request repeats all earlier ones
 * and adds REQUEST_BYTES of the text.  It prints one line of NAME=VALUE:
 * calls and events, events a second (until the last one; what then ends the
 * answer is not among them), the delay of paced events (median and 99th
 * percentile, from load_server's stamps), the time from the request's first
 * byte to the answer's, and that from the last event to the answer's end.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "shared/buf.h"
#include "shared/compiler.h"
#include "shared/file.h"
#include "shared/json_write.h"
#include "shared/mem.h"

#define STREAMS     256
#define STAMP_RANGE 10000000000000000u

static const char id_start[] = "\"id\":\"chatcmpl-";

struct stream {
	int fd;
	struct buf request;
	size_t sent;
	unsigned calls_left;
	uint64_t begin_ns;
	uint64_t last_ns; /* when the last event came */
	uint64_t events;  /* of this answer */
	uint64_t sent_ns; /* as the event being read tells; 0: not yet */
	bool answered;    /* its first byte came */

	/* Of the chunked coding. */
	size_t chunk_left;
	bool in_chunk;
	bool size_seen; /* digits of the next chunk's size came */
	bool at_end;    /* the size was 0 */
	bool ended;
	bool line_ended; /* the last byte of the stream was a line feed */
};

struct samples {
	uint64_t *ns;
	size_t count, alloc;
};

static struct {
	unsigned port, streams, calls;
	uint64_t events, pace_us;
	size_t request_bytes;
	struct buf text;
} plan = { .streams = 1, .calls = 1, .events = 1, .request_bytes = 30000 };

static struct samples delays, first_bytes, ends;
static uint64_t last_event_ns;
static uint64_t events_seen, calls_done;
static int poll_fd;

static NO_RETURN void die(const char *what)
{
	fprintf(stderr, "load_client: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void add_sample(struct samples *to, uint64_t ns)
{
	if (to->count == to->alloc) {
		to->alloc = to->alloc ? to->alloc * 2 : 1024;
		to->ns = xrealloc_array(to->ns, to->alloc, sizeof(*to->ns));
	}
	to->ns[to->count++] = ns;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static double percentile_us(struct samples *of, unsigned percent)
{
	if (!of->count)
		return 0;
	qsort(of->ns, of->count, sizeof(*of->ns), compare);
	return (double)of->ns[(of->count - 1) * percent / 100] / 1000;
}

/* The text from there, cut so that no UTF-8 character is. */
static struct span piece_of_text(size_t turn)
{
	size_t at = turn * plan.request_bytes;

	if (at + plan.request_bytes > plan.text.len)
		die("the text is too short");
	return span_from(plan.text.data + at, plan.request_bytes);
}

static void write_message(struct json_writer *jw, const char *role,
			  struct span text)
{
	jw_object_begin(jw);
	jw_key(jw, "role");
	jw_cstring(jw, role);
	jw_key(jw, "content");
	jw_string(jw, text);
	jw_object_end(jw);
}

static void write_messages(struct json_writer *jw, size_t turn)
{
	jw_array_begin(jw);
	for (size_t i = 0; plan.text.len && i <= turn; i++) {
		write_message(jw, "user", piece_of_text(i));
		write_message(jw, "assistant", SPAN("Let me look."));
	}
	if (!plan.text.len) {
		char *fill = xmalloc(plan.request_bytes);

		memset(fill, 'x', plan.request_bytes);
		write_message(jw, "user", span_from(fill, plan.request_bytes));
		free(fill);
	}
	jw_array_end(jw);
}

static void make_request(struct stream *s)
{
	struct json_writer jw;
	struct error err;
	struct buf body;
	char model[64];

	snprintf(model, sizeof(model), "events=%llu,pace=%llu",
		 (unsigned long long)plan.events,
		 (unsigned long long)plan.pace_us);
	buf_init(&body, 256u << 20);
	jw_init(&jw, &body);
	jw_object_begin(&jw);
	jw_key(&jw, "model");
	jw_cstring(&jw, model);
	jw_key(&jw, "stream");
	jw_bool(&jw, true);
	jw_key(&jw, "messages");
	write_messages(&jw, plan.calls - s->calls_left);
	/* What makes it a call of an agent's main loop. */
	jw_key(&jw, "tools");
	jw_raw(&jw, SPAN("[{\"type\":\"function\",\"function\":"
			 "{\"name\":\"bash\",\"parameters\":{}}}]"));
	jw_object_end(&jw);
	buf_clear(&s->request);
	if (!jw_finish(&jw, &err) ||
	    !buf_addf(&s->request, &err,
		      "POST /v1/chat/completions HTTP/1.1\r\n"
		      "Host: 127.0.0.1\r\nContent-Type: application/json\r\n"
		      "Content-Length: %zu\r\n\r\n",
		      body.len) ||
	    !buf_add(&s->request, buf_span(&body), &err))
		die(err.text);
	buf_release(&body);
}

static void watch(struct stream *s, uint32_t what, int operation)
{
	struct epoll_event event = { .events = what, .data.ptr = s };

	if (epoll_ctl(poll_fd, operation, s->fd, &event) < 0)
		die("epoll_ctl");
}

static void send_more(struct stream *s)
{
	while (s->sent < s->request.len) {
		ssize_t put = send(s->fd, s->request.data + s->sent,
				   s->request.len - s->sent, MSG_NOSIGNAL);

		if (put < 0 && errno == EAGAIN) {
			watch(s, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
			return;
		}
		if (put < 0)
			die("send");
		s->sent += (size_t)put;
	}
	watch(s, EPOLLIN, EPOLL_CTL_MOD);
}

static void begin_call(struct stream *s)
{
	if (!s->request.len || plan.text.len)
		make_request(s);
	s->calls_left--;
	s->sent = s->events = s->chunk_left = 0;
	s->answered = s->in_chunk = s->size_seen = false;
	s->at_end = s->ended = s->line_ended = false;
	s->begin_ns = now_ns();
	send_more(s);
}

static void open_stream(struct stream *s)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)plan.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int one = 1;

	s->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(s->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		die("connect");
	setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	s->calls_left = plan.calls;
	buf_init(&s->request, 256u << 20);
	watch(s, EPOLLIN, EPOLL_CTL_ADD);
}

/* An event ended. */
static void count_event(struct stream *s, uint64_t now)
{
	if (++s->events == plan.events)
		last_event_ns = s->last_ns = now;
	if (s->sent_ns)
		add_sample(&delays, (now - s->sent_ns) % STAMP_RANGE);
	s->sent_ns = 0;
}

static void read_stamp(struct stream *s, const char *from, const char *to)
{
	const char *id = memmem(from, (size_t)(to - from), id_start,
				sizeof(id_start) - 1);

	if (id)
		s->sent_ns = strtoull(id + sizeof(id_start) - 1, NULL, 10);
}

/*
 * Bytes of the stream.  An event ends in two line feeds; one that lies in two
 * chunks is counted, but not timed.
 */
static void read_events(struct stream *s, struct span bytes, uint64_t now)
{
	const char *from = bytes.data, *end = bytes.data + bytes.len;
	const char *p = from;

	while ((p = memchr(p, '\n', (size_t)(end - p)))) {
		if (p > bytes.data ? p[-1] == '\n' : s->line_ended) {
			if (plan.pace_us)
				read_stamp(s, from, p);
			count_event(s, now);
			from = p;
		}
		p++;
	}
	s->line_ended = bytes.len && end[-1] == '\n';
	if (plan.pace_us)
		read_stamp(s, from, end);
}

/* One byte of what is between chunks: the size's line, or what ends one. */
static void read_framing(struct stream *s, char c)
{
	int digit = c >= '0' && c <= '9'   ? c - '0'
		    : c >= 'a' && c <= 'f' ? c - 'a' + 10
		    : c >= 'A' && c <= 'F' ? c - 'A' + 10
					   : -1;

	if (digit >= 0) {
		s->chunk_left = s->chunk_left * 16 + (unsigned)digit;
		s->size_seen = true;
	} else if (c == '\n' && s->size_seen) {
		s->size_seen = false;
		s->in_chunk = s->chunk_left > 0;
		s->at_end = !s->in_chunk;
	} else if (c == '\n' && s->at_end) {
		s->ended = true;
	}
}

static void read_body(struct stream *s, struct span bytes, uint64_t now)
{
	while (bytes.len) {
		size_t len =
			bytes.len < s->chunk_left ? bytes.len : s->chunk_left;

		if (!s->in_chunk) {
			read_framing(s, bytes.data[0]);
			bytes = span_after(bytes, 1);
			continue;
		}
		read_events(s, span_from(bytes.data, len), now);
		bytes = span_after(bytes, len);
		s->chunk_left -= len;
		s->in_chunk = s->chunk_left > 0;
	}
}

/* The head is taken to come whole in one read. */
static struct span skip_head(struct span bytes)
{
	const char *end = memmem(bytes.data, bytes.len, "\r\n\r\n", 4);

	if (!end || !span_starts_with(bytes, "HTTP/1.1 200")) {
		fprintf(stderr, "load_client: answer %.*s\n", (int)bytes.len,
			bytes.data);
		exit(1);
	}
	return span_after(bytes, (size_t)(end + 4 - bytes.data));
}

/* False: nothing is left to do. */
static bool take(struct stream *s, struct span bytes)
{
	uint64_t now = now_ns();

	if (!s->answered) {
		add_sample(&first_bytes, now - s->begin_ns);
		bytes = skip_head(bytes);
		s->answered = true;
	}
	read_body(s, bytes, now);
	if (!s->ended)
		return true;
	/* The finishing event, and [DONE]. */
	if (s->events < plan.events + 2)
		die("events are missing");
	add_sample(&ends, now - s->last_ns);
	events_seen += plan.events;
	calls_done++;
	if (!s->calls_left)
		return false;
	begin_call(s);
	return true;
}

static bool receive(struct stream *s)
{
	static char bytes[512 << 10];
	ssize_t len = recv(s->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (len < 0 && errno == EAGAIN)
		return true;
	if (len <= 0)
		die("the connection broke");
	return take(s, span_from(bytes, (size_t)len));
}

static void run(struct stream *streams)
{
	struct epoll_event events[STREAMS];
	unsigned left = plan.streams;

	for (unsigned i = 0; i < plan.streams; i++)
		begin_call(&streams[i]);
	while (left) {
		int count = epoll_wait(poll_fd, events, STREAMS, 60000);

		if (count == 0)
			die("nothing came for a minute");
		for (int i = 0; i < count; i++) {
			struct stream *s = events[i].data.ptr;

			if (events[i].events & EPOLLOUT)
				send_more(s);
			if ((events[i].events & EPOLLIN) && !receive(s)) {
				watch(s, 0, EPOLL_CTL_DEL);
				left--;
			}
		}
	}
}

static void read_plan(int argc, char **argv)
{
	struct error err;
	int option;

	buf_init(&plan.text, 64u << 20);
	while ((option = getopt(argc, argv, "p:k:n:e:b:r:t:")) != -1) {
		unsigned long value = optarg ? strtoul(optarg, NULL, 10) : 0;

		if (option == 'p')
			plan.port = (unsigned)value;
		else if (option == 'k')
			plan.streams = (unsigned)value;
		else if (option == 'n')
			plan.events = value;
		else if (option == 'e')
			plan.pace_us = value;
		else if (option == 'b')
			plan.request_bytes = value;
		else if (option == 'r')
			plan.calls = (unsigned)value;
		else if (option != 't')
			exit(2);
		else if (!file_read(optarg, &plan.text, &err))
			die(err.text);
	}
	if (!plan.port || plan.streams > STREAMS)
		exit(2);
}

int main(int argc, char **argv)
{
	static struct stream streams[STREAMS];
	uint64_t begin;
	double seconds;

	read_plan(argc, argv);
	poll_fd = epoll_create1(0);
	for (unsigned i = 0; i < plan.streams; i++)
		open_stream(&streams[i]);
	begin = now_ns();
	run(streams);
	seconds = (double)(last_event_ns - begin) / 1e9;
	printf("calls=%llu events=%llu rate=%.0f delay50=%.1f delay99=%.1f "
	       "first50=%.1f first99=%.1f end50=%.1f end99=%.1f\n",
	       (unsigned long long)calls_done, (unsigned long long)events_seen,
	       (double)events_seen / seconds, percentile_us(&delays, 50),
	       percentile_us(&delays, 99), percentile_us(&first_bytes, 50),
	       percentile_us(&first_bytes, 99), percentile_us(&ends, 50),
	       percentile_us(&ends, 99));
	return 0;
}
