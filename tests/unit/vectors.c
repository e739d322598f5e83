/* What the unit tests share. */
#include "tests/unit/vectors.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/file.h"
#include "shared/mem.h"
#include "shared/sse.h"

#define PLENTY (256u << 20)

struct guarded guard(struct span text)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t room = (text.len + page - 1) / page * page;
	struct guarded g = { .size = room + page };

	g.map = mmap(NULL, g.size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(g.map != MAP_FAILED);
	assert_int_equal(mprotect(g.map + room, page, PROT_NONE), 0);
	if (text.len)
		memcpy(g.map + room - text.len, text.data, text.len);
	g.text = span_from(g.map + room - text.len, text.len);
	return g;
}

void guard_free(struct guarded *g)
{
	munmap(g->map, g->size);
}

static size_t piece_length(int way, size_t left, unsigned *seed)
{
	size_t len = left;

	if (way == FEED_BYTEWISE)
		len = 1;
	else if (way >= FEED_RANDOM)
		len = 1 + (size_t)rand_r(seed) % (way % 2 ? 7 : 300);
	return len < left ? len : left;
}

void feed(struct span text, int way, feed_fn *fn, void *arg)
{
	unsigned seed = (unsigned)way * 7919u;
	struct guarded g = guard(text);
	char *end = g.map + (g.text.data - g.map) + text.len;

	while (text.len) {
		size_t len = piece_length(way, text.len, &seed);

		memcpy(end - len, text.data, len);
		fn(span_from(end - len, len), arg);
		text = span_after(text, len);
	}
	guard_free(&g);
}

void load(const char *path, struct buf *bytes)
{
	struct error err = ERROR_INIT;

	buf_init(bytes, PLENTY);
	if (!file_read(path, bytes, &err))
		fail_msg("%s", err.text);
}

unsigned each_file(const char *folder, const char *part, file_fn *fn, void *arg)
{
	struct dirent *entry;
	DIR *dir = opendir(folder);
	unsigned count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		char *path;

		if (!strstr(entry->d_name, part))
			continue;
		path = xasprintf("%s/%s", folder, entry->d_name);
		fn(path, arg);
		count++;
		free(path);
	}
	closedir(dir);
	return count;
}

struct data_call {
	data_fn *fn;
	void *arg;
};

static bool call_with_data(const struct sse_event *event, void *arg)
{
	const struct data_call *call = arg;

	if (event->has_data)
		call->fn(event->data, call->arg);
	return true;
}

void each_data(struct span stream, data_fn *fn, void *arg)
{
	struct data_call call = { fn, arg };
	struct sse_parser sse;
	struct error err;

	sse_init(&sse, PLENTY);
	assert_true(sse_feed(&sse, stream, call_with_data, &call, &err));
	sse_release(&sse);
}

void check_bytes(const char *what, struct span got, struct span expected)
{
	if (span_equals(got, expected))
		return;
	for (size_t i = 0; i < got.len && i < expected.len; i++)
		if (got.data[i] != expected.data[i]) {
			size_t from = i > 60 ? i - 60 : 0;

			fail_msg("%s: differs at byte %zu\n got      %.*s\n"
				 " expected %.*s",
				 what, i,
				 (int)(got.len - from < 120 ? got.len - from
							    : 120),
				 got.data + from,
				 (int)(expected.len - from < 120
					       ? expected.len - from
					       : 120),
				 expected.data + from);
		}
	fail_msg("%s: %zu bytes instead of %zu\n got      %.*s\n"
		 " expected %.*s",
		 what, got.len, expected.len,
		 (int)(got.len < 400 ? got.len : 400), got.data,
		 (int)(expected.len < 400 ? expected.len : 400), expected.data);
}

void check_text(struct span got, const char *expected)
{
	check_bytes("text", got, span_of(expected));
}

void check_error(const struct error *err, enum error_kind kind,
		 const char *text_part)
{
	if (err->kind != kind || !strstr(err->text, text_part))
		fail_msg("error %s \"%s\" instead of %s \"...%s...\"",
			 error_kind_name(err->kind), err->text,
			 error_kind_name(kind), text_part);
}

void put(struct buf *out, struct span bytes)
{
	struct error err;

	assert_true(buf_add(out, bytes, &err));
}

void putf(struct buf *out, const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	assert_true(vasprintf(&text, fmt, args) >= 0);
	va_end(args);
	put(out, span_of(text));
	free(text);
}

struct buf test_buf(void)
{
	struct buf buf;

	buf_init(&buf, PLENTY);
	return buf;
}

void temp_folder_make(struct folder *folder)
{
	const char *parent = getenv("TMPDIR");

	snprintf(folder->path, sizeof(folder->path), "%s/octap-test-XXXXXX",
		 parent && strlen(parent) < 40 ? parent : "/tmp");
	assert_non_null(mkdtemp(folder->path));
}

static int remove_entry(const char *path, const struct stat *status UNUSED,
			int type UNUSED, struct FTW *at UNUSED)
{
	return remove(path);
}

void temp_folder_remove(const struct folder *folder)
{
	assert_int_equal(
		nftw(folder->path, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}

char *folder_file(const struct folder *folder, const char *name)
{
	return xasprintf("%s/%s", folder->path, name);
}

void capture_begin(struct capture *capture, int target)
{
	capture->target = target;
	fflush(NULL);
	capture->saved = dup(target);
	capture->file = memfd_create("captured", MFD_CLOEXEC);
	assert_true(capture->saved >= 0 && capture->file >= 0);
	assert_int_equal(dup2(capture->file, target), target);
}

void capture_end(struct capture *capture, struct buf *text)
{
	struct error err;

	fflush(NULL);
	assert_int_equal(dup2(capture->saved, capture->target),
			 capture->target);
	assert_int_equal(lseek(capture->file, 0, SEEK_SET), 0);
	assert_true(file_read_fd(capture->file, text, &err));
	close(capture->saved);
	close(capture->file);
}

int fate_of(void (*fn)(void))
{
	const struct rlimit no_core = { 0, 0 };
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		setrlimit(RLIMIT_CORE, &no_core);
		dup2(null, STDERR_FILENO);
		fn();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}
