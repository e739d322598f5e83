#ifndef PROXY_CONFIG_H
#define PROXY_CONFIG_H

#include <stdint.h>

#include "proxy/rewrite.h"
#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/options.h"

/*
 * What octap-proxy was told, from its command line, its environment and its key
 * files.  Texts borrow from argv; the two keys are copies of our own.
 */
struct config {
	const char *upstream_url;
	const char *trace_path;
	const char *host;
	uint64_t port;
	uint64_t client_timeout_ms;
	uint64_t request_timeout_ms;
	uint64_t max_turns;        /* 0: no limit */
	uint64_t max_total_tokens; /* 0: no limit */
	uint64_t max_retry_after_ms;
	uint64_t drain_timeout_ms;
	enum option_switch error_shield;
	bool drain_disconnected; /* --on-disconnect=drain */
	bool go_on_untraced;     /* --on-trace-error=continue */
	const char *rollout_id;
	const char *logprobs_mode; /* auto, raw or processed */
	uint64_t run_as_uid;       /* 0: stay who we are */
	uint64_t run_as_gid;
	struct rewrite_rules rules;
	char *upstream_key; /* never NULL */
	char *client_key;   /* NULL: anybody may call */
	bool verbose;

	/* As given; looked at only while loading. */
	const char *key_argument;
	const char *key_file;
	const char *client_key_file;
	const char *run_as;
	const char *on_disconnect;
	const char *on_trace_error;
	const char *dialect;
	const char *token_ids;
	const char *sampling;
};

/* For tests/tools/check_options.sh too: --help prints it. */
extern const struct option_table config_options;

/*
 * Parse and check everything.  A key that came by argv or the environment is
 * wiped there.  OPTIONS_DONE and OPTIONS_BAD as options_parse() has them.
 */
enum options_result config_load(struct config *config, int argc, char **argv,
				struct error *err) MUST_USE;

/* Wipes the keys. */
void config_release(struct config *config);

#endif
