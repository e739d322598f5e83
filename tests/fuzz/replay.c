/*
 * Runs a fuzz target over every file of the folders named on the command line,
 * so that any compiler can check the corpora, without libFuzzer.
 */
#include <dirent.h>
#include <stdio.h>

#include "shared/buf.h"
#include "shared/file.h"
#include "shared/mem.h"
#include "tests/fuzz/fuzz.h"

#define FILE_LIMIT (64u << 20)

static void replay_file(const char *path)
{
	struct error err;
	struct buf buf;
	size_t len;
	char *copy;

	buf_init(&buf, FILE_LIMIT);
	if (!file_read(path, &buf, &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	/* Of the exact size, so that a byte too many is found. */
	len = buf.len;
	copy = xmalloc(len);
	if (len)
		memcpy(copy, buf.data, len);
	buf_release(&buf);
	LLVMFuzzerTestOneInput((const uint8_t *)copy, len);
	free(copy);
}

static unsigned replay_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	unsigned count = 0;

	if (!dir) {
		perror(folder);
		exit(1);
	}
	while ((entry = readdir(dir))) {
		char *path;

		if (entry->d_name[0] == '.')
			continue;
		path = xasprintf("%s/%s", folder, entry->d_name);
		replay_file(path);
		free(path);
		count++;
	}
	closedir(dir);
	return count;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		printf("%s: %u inputs\n", argv[i], replay_folder(argv[i]));
	return 0;
}
