#include "proxy/keys.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/config.h"
#include "shared/file.h"
#include "shared/log.h"
#include "shared/mem.h"

#define DEFAULT_KEY "intercepted"

static const char *const key_variables[] = {
	"OPENCODE_UPSTREAM_API_KEY",
	"UPSTREAM_API_KEY",
};

/* Copy a key and wipe the place it came from. */
static char *take_key(char *text)
{
	char *key = xstrdup(text);

	mem_wipe(text, strlen(text));
	return key;
}

static void drop_key(char **key)
{
	if (*key)
		mem_wipe(*key, strlen(*key));
	free(*key);
	*key = NULL;
}

/* Every variable is wiped, whichever is used. */
static char *key_from_environment(void)
{
	char *key = NULL;

	for (size_t i = 0; i < ARRAY_LEN(key_variables); i++) {
		char *text = getenv(key_variables[i]);
		char *taken = text && *text ? take_key(text) : NULL;

		unsetenv(key_variables[i]);
		if (key)
			drop_key(&taken);
		else
			key = taken;
	}
	return key;
}

static char *key_from_argument(int argc, char **argv, const char *argument)
{
	/* getopt's text lies within one of argv's, which may be written to. */
	for (int i = 1; i < argc; i++) {
		size_t len = strlen(argv[i]);

		if (argument >= argv[i] && argument < argv[i] + len)
			return take_key(argv[i] + (argument - argv[i]));
	}
	return xstrdup(argument);
}

bool keys_load(struct config *c, int argc, char **argv, struct error *err)
{
	const char *source = "environment", *fault;

	c->upstream_key = key_from_environment();
	if (c->key_argument) {
		log_warn("octap-proxy",
			 "--upstream-api-key shows the key in the process "
			 "list: use --upstream-api-key-file");
		drop_key(&c->upstream_key);
		c->upstream_key =
			key_from_argument(argc, argv, c->key_argument);
		c->key_argument = NULL;
		source = "--upstream-api-key";
	}
	if (c->key_file) {
		drop_key(&c->upstream_key);
		if (!file_read_secret(c->key_file, &c->upstream_key, err))
			return error_wrap(err, "--upstream-api-key-file");
	}
	if (c->upstream_key) {
		fault = secret_fault(span_of(c->upstream_key));
		if (fault)
			return error_set(err, ERROR_USAGE, "%s: %s", source,
					 fault);
		log_mask(c->upstream_key);
	} else {
		c->upstream_key = xstrdup(DEFAULT_KEY);
	}
	if (c->client_key_file &&
	    !file_read_secret(c->client_key_file, &c->client_key, err))
		return error_wrap(err, "--client-key-file");
	log_mask(c->client_key);
	return true;
}

void keys_wipe(struct config *c)
{
	drop_key(&c->upstream_key);
	drop_key(&c->client_key);
	log_mask_clear();
}
