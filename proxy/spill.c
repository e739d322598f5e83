/* The spill file, its extents, and the spools in it. */
#include "proxy/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/limits.h"
#include "shared/log.h"
#include "shared/mem.h"

#define EXTENT LIMIT_TURN_MEMORY

struct spill {
	int fd;
	bool failed;     /* a write or read did: no more of them */
	uint32_t length; /* of the file, in extents */
	uint32_t *unused;
	uint32_t unused_count;
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
	}
	free(path);
	return spill;
}

void spill_free(struct spill *spill)
{
	if (!spill)
		return;
	close(spill->fd);
	free(spill->unused);
	free(spill);
}

void spill_give_up(struct spill *spill)
{
	spill->failed = true;
}

uint64_t spill_size(const struct spill *spill)
{
	return (uint64_t)spill->length * EXTENT;
}

static void give_back(struct spill *spill, const uint32_t *extents,
		      size_t count)
{
	if (!count)
		return;
	spill->unused =
		xrealloc_array(spill->unused, spill->unused_count + count,
			       sizeof(*spill->unused));
	memcpy(spill->unused + spill->unused_count, extents,
	       count * sizeof(*extents));
	spill->unused_count += (uint32_t)count;
	if (spill->unused_count < spill->length)
		return;
	free(spill->unused);
	spill->unused = NULL;
	spill->unused_count = spill->length = 0;
	if (ftruncate(spill->fd, 0) < 0)
		spill->failed = true;
}

static bool write_extent(struct spill *spill, uint32_t extent, const char *data)
{
	size_t done = 0;

	while (done < EXTENT) {
		ssize_t put = pwrite(spill->fd, data + done, EXTENT - done,
				     (off_t)extent * EXTENT + (off_t)done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		done += (size_t)put;
	}
	return true;
}

void spool_init(struct spool *spool, struct spill *spill, size_t limit)
{
	*spool = (struct spool){ .spill = spill, .limit = limit };
	buf_init(&spool->rest, limit);
}

void spool_release(struct spool *spool)
{
	if (spool->count)
		give_back(spool->spill, spool->extents, spool->count);
	free(spool->extents);
	buf_release(&spool->rest);
	spool->extents = NULL;
	spool->count = 0;
}

/* The first bytes of `rest` to the file. */
static void move_extent(struct spool *spool)
{
	struct spill *spill = spool->spill;
	bool fresh = !spill->unused_count;
	uint32_t extent =
		fresh ? spill->length : spill->unused[spill->unused_count - 1];

	if (!write_extent(spill, extent, spool->rest.data)) {
		log_warn("octap-proxy",
			 "the spill file: %s: long answers stay in memory",
			 strerror(errno));
		spill->failed = true;
		return;
	}
	if (fresh)
		spill->length++;
	else
		spill->unused_count--;
	spool->extents = xrealloc_array(spool->extents, spool->count + 1,
					sizeof(*spool->extents));
	spool->extents[spool->count++] = extent;
	buf_consume(&spool->rest, EXTENT);
}

bool spool_add(struct spool *spool, struct span bytes, struct error *err)
{
	if (bytes.len >= spool->limit - spool->count * EXTENT - spool->rest.len)
		return error_set(err, ERROR_TOO_LARGE,
				 "more than the limit of %zu bytes",
				 spool->limit - 1);
	if (!buf_add(&spool->rest, bytes, err))
		return false;
	while (spool->rest.len >= EXTENT && spool->spill &&
	       !spool->spill->failed)
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

bool spool_each(const struct spool *spool, spool_piece_fn *fn, void *arg,
		struct error *err)
{
	struct buf piece;
	bool ok = true;

	buf_init(&piece, EXTENT + 1);
	for (size_t i = 0; ok && i < spool->count; i++) {
		buf_clear(&piece);
		ok = read_piece(spool->spill, (off_t)spool->extents[i] * EXTENT,
				&piece, err) &&
		     fn(buf_span(&piece), arg, err);
	}
	buf_release(&piece);
	return ok && fn(buf_span(&spool->rest), arg, err);
}
