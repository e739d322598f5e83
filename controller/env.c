/* Environments of jobs. */
#include "controller/env.h"

#include <stdbool.h>
#include <string.h>

#include "shared/mem.h"

const char *const env_base[] = {
	"HOME=/home/user",
	"USER=user",
	"LOGNAME=user",
	"SHELL=/bin/bash",
	"PATH=/usr/local/bin:/usr/bin:/bin",
	"LANG=C.UTF-8",
	"TERM=dumb",
	"TMPDIR=/tmp",
	NULL,
};

static size_t count(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

static bool has_name_of(const char *const *list, const char *entry)
{
	size_t len = strcspn(entry, "=");

	for (; list && *list; list++)
		if (!strncmp(*list, entry, len) && (*list)[len] == '=')
			return true;
	return false;
}

const char **env_merge(const char *const *first, const char *const *second)
{
	size_t n = count(first), m = count(second);
	const char **merged = xcalloc(n + m + 1, sizeof(*merged));

	for (size_t i = 0; i < n; i++)
		merged[i] = first[i];
	for (size_t i = 0; i < m; i++)
		if (!has_name_of(first, second[i]))
			merged[n++] = second[i];
	return merged;
}
