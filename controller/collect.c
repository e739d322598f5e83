/* Copying the workdir out: a listing, then file after file. */
#include "controller/collect.h"

#include <stdlib.h>
#include <string.h>

#include "controller/env.h"
#include "controller/out_dir.h"
#include "controller/task.h"
#include "shared/file.h"
#include "shared/json_text.h"
#include "shared/limits.h"
#include "shared/mem.h"

/* "SIZE PATH\0" for each file, "- PATH/\0" for each folder that is too deep. */
#define LIST_COMMAND                                           \
	"find . -mindepth 1 -maxdepth 17 "                     \
	"\\( -name .git -o -name node_modules \\) -prune -o "  \
	"-type f -printf '%s %P\\0' -o "                       \
	"-type d -path './*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*/*' " \
	"-printf '- %P/\\0'"

/* Quoted in the result are files at most this deep. */
#define QUOTED_DEPTH 2

void collect_init(struct collect *c)
{
	*c = (struct collect){ 0 };
	buf_init(&c->listing, LIMIT_COLLECT_LISTING);
}

void collect_release(struct collect *c)
{
	for (size_t i = 0; i < c->list_count; i++)
		free(c->list[i].path);
	for (size_t i = 0; i < c->file_count; i++) {
		free(c->files[i].path);
		free(c->files[i].text);
	}
	for (size_t i = 0; i < c->missed_count; i++)
		free(c->missed[i]);
	free(c->list);
	free(c->files);
	free(c->missed);
	buf_release(&c->listing);
	*c = (struct collect){ 0 };
}

static void add_missed(struct collect *c, const char *path)
{
	if (c->missed_count == LIMIT_COLLECT_FILES) {
		c->missed_more++;
		return;
	}
	c->missed = xrealloc_array(c->missed, c->missed_count + 1,
				   sizeof(*c->missed));
	c->missed[c->missed_count++] = xstrdup(path);
}

/* No way out of the folder, and UTF-8, as the result needs it. */
static bool is_safe(const char *path)
{
	if (!*path || strlen(path) >= LIMIT_PATH || !utf8_valid(span_of(path)))
		return false;
	for (;;) {
		size_t len = strcspn(path, "/");

		if (!len || (len == 1 && path[0] == '.') ||
		    (len == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		if (!path[len])
			return true;
		path += len + 1;
	}
}

static void add_listed(struct collect *c, const char *line)
{
	const char *space = strchr(line, ' ');
	uint64_t size;

	if (!space)
		return;
	if (!span_to_u64(span_from(line, (size_t)(space - line)), &size) ||
	    !is_safe(space + 1)) {
		add_missed(c, space + 1);
		return;
	}
	c->list = xrealloc_array(c->list, c->list_count + 1, sizeof(*c->list));
	c->list[c->list_count++] =
		(struct listed_file){ xstrdup(space + 1), size };
}

static int compare_listed(const void *a, const void *b)
{
	const struct listed_file *first = a, *second = b;

	return strcmp(first->path, second->path);
}

static void read_listing(struct collect *c)
{
	struct span rest = buf_span(&c->listing);
	const char *end;

	while (rest.len && (end = memchr(rest.data, '\0', rest.len))) {
		add_listed(c, rest.data);
		rest = span_after(rest, (size_t)(end + 1 - rest.data));
	}
	if (c->list_count)
		qsort(c->list, c->list_count, sizeof(*c->list), compare_listed);
}

static bool fits(const struct collect *c, const struct listed_file *file)
{
	return c->file_count < LIMIT_COLLECT_FILES &&
	       file->size <= LIMIT_COLLECT_FILE &&
	       c->total + file->size <= LIMIT_COLLECT_TOTAL;
}

/* Ask for the next file that fits; done when there is none. */
static void read_next(struct collect *c)
{
	for (; c->next < c->list_count; c->next++) {
		const struct listed_file *file = &c->list[c->next];
		struct error err;
		char *path;
		bool ok;

		if (!fits(c, file)) {
			add_missed(c, file->path);
			continue;
		}
		path = xasprintf("%s/%s", TASK_WORKDIR, file->path);
		ok = sandbox_read_file(c->sandbox, path, LIMIT_COLLECT_FILE,
				       &err);
		free(path);
		c->reading = ok;
		if (ok)
			return;
		add_missed(c, file->path);
	}
	c->on_done(c->arg);
}

static size_t depth_of(const char *path)
{
	size_t depth = 1;

	for (; *path; path++)
		depth += *path == '/';
	return depth;
}

/* The first so many characters. */
static size_t quoted_length(struct span bytes)
{
	size_t characters = 0;

	for (size_t i = 0; i < bytes.len; i++)
		if (((unsigned char)bytes.data[i] & 0xC0) != 0x80 &&
		    characters++ == LIMIT_RESULT_FILE_CHARS)
			return i;
	return bytes.len;
}

static void add_file(struct collect *c, const char *path, struct span bytes)
{
	struct collected_file *file;

	c->files =
		xrealloc_array(c->files, c->file_count + 1, sizeof(*c->files));
	file = &c->files[c->file_count++];
	*file = (struct collected_file){ .path = xstrdup(path) };
	c->total += bytes.len;
	if (c->quoted == LIMIT_RESULT_FILES || bytes.len > LIMIT_RESULT_FILE ||
	    depth_of(path) > QUOTED_DEPTH)
		return;
	c->quoted++;
	file->text_len = quoted_length(bytes);
	file->text = xstrndup(bytes.data, file->text_len);
}

static bool write_out(const struct collect *c, const char *path,
		      struct span bytes, struct error *err)
{
	char *full = xasprintf("%s/%s", c->target, path);
	char *slash = strrchr(full, '/');
	bool ok;

	*slash = '\0';
	ok = file_make_dirs(full, err);
	*slash = '/';
	ok = ok && (c->mask ? out_dir_write(full, bytes, err)
			    : file_write(full, bytes, err));
	free(full);
	return ok;
}

static void take_content(struct collect *c, const struct sandbox_event *event)
{
	const char *path = c->list[c->next++].path;
	struct error err;

	c->reading = false;
	if (event->type == SANDBOX_CONTENT &&
	    write_out(c, path, event->bytes, &err))
		add_file(c, path, event->bytes);
	else
		add_missed(c, path);
	read_next(c);
}

static void start_listing(struct collect *c)
{
	const struct job_spec job = {
		.command = LIST_COMMAND,
		.cwd = TASK_WORKDIR,
		.env = env_base,
	};
	struct error err;

	c->job = sandbox_start_job(c->sandbox, &job, &err);
	if (!c->job)
		c->on_done(c->arg);
}

void collect_begin(struct collect *c, struct sandbox *sandbox,
		   const char *target, collect_done_fn *on_done, void *arg)
{
	c->sandbox = sandbox;
	c->target = target;
	c->on_done = on_done;
	c->arg = arg;
	/* A verifier may have been stopped in the middle of a purge. */
	c->waiting = sandbox->busy;
	if (!c->waiting)
		start_listing(c);
}

void collect_on_event(struct collect *c, const struct sandbox_event *event)
{
	struct error err;

	if (c->waiting) {
		c->waiting = c->sandbox->busy;
		if (!c->waiting)
			start_listing(c);
		return;
	}
	switch (event->type) {
	case SANDBOX_JOB_OUTPUT:
		if (event->job == c->job && !event->is_stderr &&
		    !buf_add(&c->listing, event->bytes, &err)) {
			add_missed(c, "(more files than can be listed)");
			sandbox_kill_job(c->sandbox, c->job);
		}
		break;
	case SANDBOX_JOB_EXIT:
		if (event->job != c->job)
			break;
		c->job = NULL;
		read_listing(c);
		read_next(c);
		break;
	case SANDBOX_CONTENT:
	case SANDBOX_FAILED:
		if (c->reading)
			take_content(c, event);
		break;
	default:
		break;
	}
}
