/*
 * The spill file, its extents, the thread that writes them, and the spools.  The
 * mutex guards what the thread has to do with; which extents are used is the
 * loop's.
 */
#include "proxy/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/limits.h"
#include "shared/log.h"
#include "shared/mem.h"

#define EXTENT LIMIT_TURN_MEMORY

struct extent {
	struct extent *next; /* to be written */
	uint32_t number;
	bool pending; /* the thread has it, or will */
	char *data;   /* NULL: it is in the file */
};

struct spill {
	int fd;
	uint32_t length; /* of the file, in extents */
	uint32_t *unused;
	uint32_t unused_count;
	bool has_thread;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct extent *first, **last; /* to be written */
	size_t pending;
	bool emptied; /* nothing in the file is of use any more */
	bool failed;  /* a write or read did: no more of them */
	bool closing;
};

/* For file systems without O_TMPFILE: a name that lives for a moment. */
static int open_and_unlink(const char *folder)
{
	char *path = xasprintf("%s/.octap-spill-XXXXXX", folder);
	int fd = mkostemp(path, O_CLOEXEC);

	if (fd >= 0)
		unlink(path);
	free(path);
	return fd;
}

struct spill *spill_open(const char *beside)
{
	char *path = xstrdup(beside);
	const char *folder = dirname(path);
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct spill *spill = NULL;

	if (fd < 0)
		fd = open_and_unlink(folder);
	if (fd < 0) {
		log_warn("octap-proxy",
			 "no file to spill to in %s: long answers stay in "
			 "memory",
			 folder);
	} else {
		spill = xcalloc(1, sizeof(*spill));
		spill->fd = fd;
		spill->last = &spill->first;
		pthread_mutex_init(&spill->mutex, NULL);
		pthread_cond_init(&spill->changed, NULL);
	}
	free(path);
	return spill;
}

static void stop_thread(struct spill *spill)
{
	pthread_mutex_lock(&spill->mutex);
	spill->closing = true;
	pthread_cond_broadcast(&spill->changed);
	pthread_mutex_unlock(&spill->mutex);
	if (spill->has_thread)
		pthread_join(spill->thread, NULL);
}

void spill_free(struct spill *spill)
{
	if (!spill)
		return;
	stop_thread(spill);
	pthread_mutex_destroy(&spill->mutex);
	pthread_cond_destroy(&spill->changed);
	close(spill->fd);
	free(spill->unused);
	free(spill);
}

void spill_give_up(struct spill *spill)
{
	pthread_mutex_lock(&spill->mutex);
	spill->failed = true;
	pthread_mutex_unlock(&spill->mutex);
}

uint64_t spill_size(const struct spill *spill)
{
	return (uint64_t)spill->length * EXTENT;
}

static void give_back(struct spill *spill, uint32_t number)
{
	spill->unused = xrealloc_array(spill->unused, spill->unused_count + 1,
				       sizeof(*spill->unused));
	spill->unused[spill->unused_count++] = number;
	if (spill->unused_count < spill->length)
		return;
	free(spill->unused);
	spill->unused = NULL;
	spill->unused_count = spill->length = 0;
	pthread_mutex_lock(&spill->mutex);
	spill->emptied = true;
	pthread_cond_broadcast(&spill->changed);
	pthread_mutex_unlock(&spill->mutex);
}

static uint32_t take_number(struct spill *spill)
{
	return spill->unused_count ? spill->unused[--spill->unused_count]
				   : spill->length++;
}

static bool write_extent(const struct spill *spill, const struct extent *extent)
{
	off_t at = (off_t)extent->number * EXTENT;
	size_t done = 0;

	while (done < EXTENT) {
		ssize_t put = pwrite(spill->fd, extent->data + done,
				     EXTENT - done, at + (off_t)done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		done += (size_t)put;
	}
	return true;
}

/* The first that waits to the file; where that fails it stays in memory. */
static void write_next(struct spill *spill)
{
	struct extent *extent = spill->first;
	bool skip = spill->failed;
	bool written = false;

	spill->first = extent->next;
	if (!spill->first)
		spill->last = &spill->first;
	pthread_mutex_unlock(&spill->mutex);
	if (!skip) {
		written = write_extent(spill, extent);
		if (!written)
			log_warn("octap-proxy",
				 "the spill file: %s: long answers stay in "
				 "memory",
				 strerror(errno));
	}
	pthread_mutex_lock(&spill->mutex);
	if (written) {
		free(extent->data);
		extent->data = NULL;
	}
	spill->failed |= !written;
	extent->pending = false;
	spill->pending--;
	pthread_cond_broadcast(&spill->changed);
}

/* It takes a while, too: all its pages are given back. */
static void empty_file(struct spill *spill)
{
	bool ok;

	spill->emptied = false;
	pthread_mutex_unlock(&spill->mutex);
	ok = ftruncate(spill->fd, 0) == 0;
	pthread_mutex_lock(&spill->mutex);
	spill->failed |= !ok;
}

static void *run_thread(void *arg)
{
	struct spill *spill = arg;

	pthread_mutex_lock(&spill->mutex);
	while (spill->first || !spill->closing) {
		if (spill->emptied)
			empty_file(spill);
		else if (spill->first)
			write_next(spill);
		else
			pthread_cond_wait(&spill->changed, &spill->mutex);
	}
	pthread_mutex_unlock(&spill->mutex);
	return NULL;
}

/* The first extent starts it. */
static void start_thread(struct spill *spill)
{
	int failure = pthread_create(&spill->thread, NULL, run_thread, spill);

	spill->has_thread = !failure;
	if (!failure)
		return;
	log_warn("octap-proxy",
		 "no thread to write the spill file: %s: long answers stay in "
		 "memory",
		 strerror(failure));
	spill_give_up(spill);
}

/* It is there, and has not given up. */
static bool is_usable(struct spill *spill)
{
	bool usable;

	if (!spill)
		return false;
	pthread_mutex_lock(&spill->mutex);
	usable = !spill->failed;
	pthread_mutex_unlock(&spill->mutex);
	if (usable && !spill->has_thread)
		start_thread(spill);
	return usable && spill->has_thread;
}

static void hand_over(struct spill *spill, struct extent *extent)
{
	pthread_mutex_lock(&spill->mutex);
	while (spill->pending >= SPILL_WAITING)
		pthread_cond_wait(&spill->changed, &spill->mutex);
	spill->pending++;
	*spill->last = extent;
	spill->last = &extent->next;
	pthread_cond_broadcast(&spill->changed);
	pthread_mutex_unlock(&spill->mutex);
}

/* It is in the file now, or stays in memory. */
static void wait_for(struct spill *spill, const struct extent *extent)
{
	pthread_mutex_lock(&spill->mutex);
	while (extent->pending)
		pthread_cond_wait(&spill->changed, &spill->mutex);
	pthread_mutex_unlock(&spill->mutex);
}

void spool_init(struct spool *spool, struct spill *spill, size_t limit)
{
	*spool = (struct spool){ .spill = spill, .limit = limit };
	buf_init(&spool->rest, limit);
}

void spool_release(struct spool *spool)
{
	for (size_t i = 0; i < spool->count; i++) {
		struct extent *extent = spool->extents[i];

		wait_for(spool->spill, extent);
		give_back(spool->spill, extent->number);
		free(extent->data);
		free(extent);
	}
	free(spool->extents);
	buf_release(&spool->rest);
	spool->extents = NULL;
	spool->count = 0;
}

/* The first bytes of `rest` to the file. */
static void move_extent(struct spool *spool)
{
	struct extent *extent = xcalloc(1, sizeof(*extent));

	extent->number = take_number(spool->spill);
	extent->pending = true;
	extent->data = xmalloc(EXTENT);
	memcpy(extent->data, spool->rest.data, EXTENT);
	spool->extents = xrealloc_array(spool->extents, spool->count + 1,
					sizeof(struct extent *));
	spool->extents[spool->count++] = extent;
	buf_consume(&spool->rest, EXTENT);
	hand_over(spool->spill, extent);
}

bool spool_add(struct spool *spool, struct span bytes, struct error *err)
{
	if (bytes.len >= spool->limit - spool->count * EXTENT - spool->rest.len)
		return error_set(err, ERROR_TOO_LARGE,
				 "more than the limit of %zu bytes",
				 spool->limit - 1);
	if (!buf_add(&spool->rest, bytes, err))
		return false;
	while (spool->rest.len >= EXTENT && is_usable(spool->spill))
		move_extent(spool);
	return true;
}

bool spool_is_empty(const struct spool *spool)
{
	return !spool->count && !spool->rest.len;
}

bool spool_in_memory(const struct spool *spool)
{
	return !spool->count;
}

static bool read_piece(const struct spill *spill, off_t at, struct buf *piece,
		       struct error *err)
{
	if (!buf_reserve(piece, EXTENT, err))
		return false;
	while (piece->len < EXTENT) {
		ssize_t got =
			pread(spill->fd, piece->data + piece->len,
			      EXTENT - piece->len, at + (off_t)piece->len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return error_set_errno(err, got ? errno : EIO,
					       "read the spill file");
		piece->len += (size_t)got;
	}
	return true;
}

static bool hand_out(const struct spool *spool, const struct extent *extent,
		     struct buf *piece, spool_piece_fn *fn, void *arg,
		     struct error *err)
{
	wait_for(spool->spill, extent);
	if (extent->data)
		return fn(span_from(extent->data, EXTENT), arg, err);
	buf_clear(piece);
	return read_piece(spool->spill, (off_t)extent->number * EXTENT, piece,
			  err) &&
	       fn(buf_span(piece), arg, err);
}

bool spool_each(const struct spool *spool, spool_piece_fn *fn, void *arg,
		struct error *err)
{
	struct buf piece;
	bool ok = true;

	buf_init(&piece, EXTENT + 1);
	for (size_t i = 0; ok && i < spool->count; i++)
		ok = hand_out(spool, spool->extents[i], &piece, fn, arg, err);
	buf_release(&piece);
	return ok && fn(buf_span(&spool->rest), arg, err);
}
