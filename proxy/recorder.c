/*
 * The recorder: a queue of turns, one thread that writes them, a pipe by which
 * it tells the loop what is done.  The mutex guards the two lists; the trace
 * and the line buffer belong to the thread.
 */
#include "proxy/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "shared/buf.h"
#include "shared/limits.h"
#include "shared/log.h"
#include "shared/loop.h"
#include "shared/mem.h"
#include "shared/trace.h"

/* Line buffers larger than this are given back after use. */
#define LINE_KEPT (1u << 20)

struct entry {
	struct entry *next;
	struct turn turn;
	const struct spool *logprobs; /* NULL: the turn has them */
	recorder_done_fn *on_done;
	void *arg;
	bool ok;
	struct error err;
	struct error missing; /* why it was written without them, if it was */
};

struct queue {
	struct entry *first, **last;
};

struct recorder {
	struct trace_writer *trace;
	struct spill *spill; /* NULL: none could be had */
	struct buf line;
	struct loop_watch *watch;
	uint64_t errors;
	uint64_t lost; /* never made a line; the thread counts */
	int wake_fd;   /* the thread counts up, the loop reads */
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t filled;
	struct queue given;
	struct queue written;
	bool closing;
};

static void queue_add(struct queue *queue, struct entry *entry)
{
	entry->next = NULL;
	*queue->last = entry;
	queue->last = &entry->next;
}

static struct entry *queue_take(struct queue *queue)
{
	struct entry *entry = queue->first;

	if (!entry)
		return NULL;
	queue->first = entry->next;
	if (!queue->first)
		queue->last = &queue->first;
	return entry;
}

static bool add_piece(struct span piece, void *arg, struct error *err)
{
	struct recorder *r = arg;

	return trace_add(r->trace, piece, err);
}

/* A server may quote the key anywhere. */
static bool make_line(struct recorder *r, const struct turn *turn,
		      size_t *logprobs_at, struct error *err)
{
	bool made;

	buf_clear(&r->line);
	made = logprobs_at
		       ? turn_encode_around(turn, &r->line, logprobs_at, err)
		       : turn_encode(turn, &r->line, err);
	if (r->line.len)
		log_mask_bytes(r->line.data, r->line.len);
	return made;
}

static bool write_whole(struct recorder *r, const struct turn *turn,
			struct error *err)
{
	if (make_line(r, turn, NULL, err)) {
		if (trace_append(r->trace, buf_span(&r->line), err))
			return true;
		if (trace_kept(r->trace))
			return false;
	}
	r->lost++;
	return false;
}

/* What cannot be had is left out; all else is a record, and says so. */
static bool write_without(struct recorder *r, struct entry *entry)
{
	struct turn turn = entry->turn;

	entry->missing = entry->err;
	error_wrap(&entry->missing, "the proxy lost the log-probabilities");
	turn.token_status = TOKENS_MISMATCH;
	turn.complete = false;
	if (!turn.abort_reason.len)
		turn.abort_reason = span_of(entry->missing.text);
	return write_whole(r, &turn, &entry->err);
}

/* The log-probabilities go from the spill to the encoder piece by piece. */
static bool add_spilled(struct recorder *r, struct entry *entry)
{
	struct error *err = &entry->err;
	struct span line;
	size_t at;

	if (!make_line(r, &entry->turn, &at, err))
		return false;
	line = buf_span(&r->line);
	return trace_add(r->trace, span_from(line.data, at), err) &&
	       spool_each(entry->logprobs, add_piece, r, err) &&
	       trace_add(r->trace, span_after(line, at), err);
}

static bool write_spilled(struct recorder *r, struct entry *entry)
{
	if (!add_spilled(r, entry))
		trace_drop_line(r->trace);
	else if (trace_end_line(r->trace, &entry->err))
		return true;
	else if (trace_kept(r->trace))
		return false;
	return write_without(r, entry);
}

static void write_entry(struct recorder *r, struct entry *entry)
{
	entry->ok = entry->logprobs ? write_spilled(r, entry)
				    : write_whole(r, &entry->turn, &entry->err);
	if (r->line.alloc > LINE_KEPT)
		buf_release(&r->line);
}

static void *run_thread(void *arg)
{
	struct recorder *r = arg;
	const uint64_t one = 1;

	pthread_mutex_lock(&r->mutex);
	for (;;) {
		struct entry *entry = queue_take(&r->given);

		if (!entry) {
			if (r->closing)
				break;
			pthread_cond_wait(&r->filled, &r->mutex);
			continue;
		}
		pthread_mutex_unlock(&r->mutex);
		write_entry(r, entry);
		pthread_mutex_lock(&r->mutex);
		queue_add(&r->written, entry);
		if (write(r->wake_fd, &one, sizeof(one)) < 0)
			abort(); /* an eventfd takes 2^64 - 2 of them */
	}
	pthread_mutex_unlock(&r->mutex);
	return NULL;
}

/* One that cannot be read from is given nothing more. */
static void note_missing(struct recorder *r, const struct entry *entry)
{
	log_error("octap-proxy", "turn %llu: %s",
		  (unsigned long long)entry->turn.number, entry->missing.text);
	spill_give_up(r->spill);
}

static void on_written(int fd, void *arg)
{
	struct recorder *r = arg;
	struct entry *entry;
	uint64_t count;

	if (read(fd, &count, sizeof(count)) < 0)
		return;
	for (;;) {
		pthread_mutex_lock(&r->mutex);
		entry = queue_take(&r->written);
		pthread_mutex_unlock(&r->mutex);
		if (!entry)
			return;
		r->errors += !entry->ok;
		if (entry->ok && entry->missing.kind != ERROR_NONE)
			note_missing(r, entry);
		entry->on_done(entry->ok ? NULL : &entry->err, entry->arg);
		free(entry);
	}
}

struct recorder *recorder_open(struct loop *loop, const char *path,
			       struct error *err)
{
	struct recorder *r;
	struct trace_writer *trace = trace_create(path, err);
	int fd, failure;

	if (!trace)
		return NULL;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0) {
		error_set_errno(err, errno, "eventfd");
		trace_writer_free(trace);
		return NULL;
	}
	r = xcalloc(1, sizeof(*r));
	r->trace = trace;
	r->spill = spill_open(path);
	r->wake_fd = fd;
	r->given.last = &r->given.first;
	r->written.last = &r->written.first;
	buf_init(&r->line, LIMIT_TRACE_RECORD);
	pthread_mutex_init(&r->mutex, NULL);
	pthread_cond_init(&r->filled, NULL);
	r->watch = loop_watch_readable(loop, fd, on_written, r);
	failure = pthread_create(&r->thread, NULL, run_thread, r);
	if (failure) {
		error_set_errno(err, failure, "start the recorder");
		loop_watch_free(r->watch);
		trace_writer_free(trace);
		spill_free(r->spill);
		close(fd);
		free(r);
		return NULL;
	}
	return r;
}

uint64_t recorder_last_turn(const struct recorder *r)
{
	return trace_last_turn(r->trace);
}

uint64_t recorder_errors(const struct recorder *r)
{
	return r->errors;
}

struct spill *recorder_spill(const struct recorder *r)
{
	return r->spill;
}

void recorder_append(struct recorder *r, const struct turn *turn,
		     const struct spool *logprobs, recorder_done_fn *on_done,
		     void *arg)
{
	struct entry *entry = xcalloc(1, sizeof(*entry));

	entry->turn = *turn;
	entry->logprobs = logprobs;
	entry->on_done = on_done;
	entry->arg = arg;
	pthread_mutex_lock(&r->mutex);
	queue_add(&r->given, entry);
	pthread_cond_signal(&r->filled);
	pthread_mutex_unlock(&r->mutex);
}

bool recorder_close(struct recorder *r, struct error *err)
{
	bool ok;

	pthread_mutex_lock(&r->mutex);
	r->closing = true;
	pthread_cond_signal(&r->filled);
	pthread_mutex_unlock(&r->mutex);
	pthread_join(r->thread, NULL);
	ok = trace_flush(r->trace, err);
	if (ok && r->lost)
		ok = error_set(err, ERROR_TOO_LARGE,
			       "turns that could not be written: %llu",
			       (unsigned long long)r->lost);
	loop_watch_free(r->watch);
	trace_writer_free(r->trace);
	spill_free(r->spill);
	buf_release(&r->line);
	pthread_mutex_destroy(&r->mutex);
	pthread_cond_destroy(&r->filled);
	close(r->wake_fd);
	free(r);
	return ok;
}
