/* Opening a trace to write, and taking over what it holds. */
#include "shared/trace_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/json_scan.h"
#include "shared/json_text.h"
#include "shared/limits.h"
#include "shared/mem.h"
#include "shared/turn.h"

/* The file that the path names now, locked; -1 on failure. */
static int open_locked(const char *path, struct error *err)
{
	for (;;) {
		struct stat ours, named;
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

		if (fd < 0) {
			error_set_errno(err, errno, "open %s", path);
			return -1;
		}
		if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
			error_set(err, ERROR_REFUSED,
				  "%s is in use by another proxy: give each "
				  "proxy a trace file of its own",
				  path);
			close(fd);
			return -1;
		}
		/* A writer that re-encoded the file may just have renamed. */
		if (fstat(fd, &ours) == 0 && stat(path, &named) == 0 &&
		    ours.st_ino == named.st_ino && ours.st_dev == named.st_dev)
			return fd;
		close(fd);
	}
}

static struct trace_writer *writer_new(const char *path, int fd)
{
	struct trace_writer *w = xcalloc(1, sizeof(*w));
	size_t len = strlen(path);

	w->path = xstrdup(path);
	w->fd = fd;
	w->compressed = len >= 4 && !strcmp(path + len - 4, ".zst");
	buf_init(&w->pending, LIMIT_TRACE_RECORD);
	return w;
}

static bool is_record(struct span line)
{
	struct json_value schema;

	return json_find(line, "schema", &schema) &&
	       json_string_is(schema, TURN_SCHEMA);
}

/* Records are in the order in which they ended. */
static void note_turn(struct trace_writer *w, struct span line)
{
	struct json_value value;
	uint64_t turn;

	if (json_find(line, "turn", &value) && json_to_u64(value, &turn) &&
	    turn > w->last_turn)
		w->last_turn = turn;
}

/* All whole records of the old file into the new one. */
static bool copy_records(struct trace_reader *from, struct trace_writer *to,
			 struct error *err)
{
	bool any = false;

	for (;;) {
		struct span line;

		switch (trace_next(from, &line, err)) {
		case TRACE_LINE:
			if (!is_record(line))
				return error_set(
					err, ERROR_REFUSED,
					"%s holds something other than "
					"records of octap: choose another "
					"trace file or remove it",
					to->path);
			if (!trace_append(to, line, err))
				return false;
			any = true;
			note_turn(to, line);
			break;
		case TRACE_TRUNCATED:
			if (!any)
				return error_set(
					err, ERROR_REFUSED,
					"%s is not a trace of octap: choose "
					"another trace file or remove it",
					to->path);
			return true;
		case TRACE_END:
			return true;
		case TRACE_FAILED:
			return false;
		}
	}
}

/* Write the old file's records into a fresh file that takes its place. */
static bool rewrite_old(struct trace_writer *w, struct error *err)
{
	char *temporary = xasprintf("%s.new", w->path);
	struct trace_reader *old = trace_open(w->path, err);
	int old_fd = w->fd;
	bool ok = false;

	if (!old)
		goto out;
	/* Left by a crash, or put there: nothing is written through it. */
	unlink(temporary);
	w->fd = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (w->fd < 0) {
		w->fd = old_fd;
		error_set_errno(err, errno, "open %s", temporary);
		goto out;
	}
	ok = copy_records(old, w, err) &&
	     (w->end || !w->compressed || trace_write_empty(w, err));
	if (ok && (flock(w->fd, LOCK_EX | LOCK_NB) < 0 || fsync(w->fd) < 0 ||
		   rename(temporary, w->path) < 0))
		ok = error_set_errno(err, errno, "replace %s", w->path);
	if (!ok)
		unlink(temporary);
	close(old_fd);
out:
	trace_reader_free(old);
	free(temporary);
	return ok;
}

struct trace_writer *trace_create(const char *path, struct error *err)
{
	int fd = open_locked(path, err);
	struct trace_writer *w;
	struct stat status;

	if (fd < 0)
		return NULL;
	w = writer_new(path, fd);
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
		error_set(err, ERROR_USAGE, "%s is not a regular file", path);
		goto fail;
	}
	if (status.st_size) {
		if (!rewrite_old(w, err))
			goto fail;
	} else if (w->compressed && !trace_write_empty(w, err)) {
		goto fail;
	}
	return w;
fail:
	trace_writer_free(w);
	return NULL;
}
