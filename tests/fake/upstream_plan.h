#ifndef TESTS_FAKE_UPSTREAM_PLAN_H
#define TESTS_FAKE_UPSTREAM_PLAN_H

#include <stdint.h>

#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/options.h"

/*
 * What the fake model server does with a call, as its options say; a script
 * says it anew for each call.
 */
enum upstream_fault {
	FAULT_NONE,
	FAULT_CUT,               /* FIN after `fault_after` body bytes */
	FAULT_RST,               /* RST after as many */
	FAULT_SILENT,            /* the call is read, nothing is sent */
	FAULT_CLOSE_BEFORE_HEAD, /* the call is read, then FIN */
	FAULT_HALF_HEAD,         /* FIN in the middle of the head */
	FAULT_NO_DONE,           /* the stream without its [DONE] */
	FAULT_NO_FINISH,         /* ... without its finish_reason */
	FAULT_ERROR_EVENT,       /* ... ended by an error and [DONE] after
				    the event that `fault_after` falls into */
	FAULT_HTML,              /* 200 and a page */
	FAULT_JSON_FOR_STREAM,   /* 200 and `body` although asked to stream */
	FAULT_GZIP,              /* says that the file is gzip */
	FAULT_HANG_AFTER_FINISH, /* nothing after the finish_reason */
	FAULT_RAW,               /* the file is all of it, head included */
};

struct upstream_plan {
	const char *stream; /* files; NULL: none */
	const char *body;
	const char *plain;          /* when the call asks for no logprobs */
	struct option_list refused; /* members of requests */
	const char *refusal;        /* file; NULL: words of ours */
	uint64_t status;
	struct option_list headers;
	const char *chunk;    /* as given; the next two say the same */
	uint64_t chunk_bytes; /* 0: random */
	unsigned chunk_seed;
	uint64_t delay_ms;
	uint64_t first_delay_ms;
	const char *fault_name;
	enum upstream_fault fault;
	uint64_t fault_after;
	bool content_length;
	bool until_close;
	bool endless;
};

struct upstream_settings {
	struct upstream_plan plan; /* what the options say */
	const char *script;        /* file; NULL: `plan` for every call */
	struct upstream_plan *scripted;
	size_t scripted_count;
	struct option_list words; /* which the scripted plans borrow */
	const char *owned_by;     /* NULL: tests */
	const char *models;       /* as a line of a script; NULL: by itself */
	struct upstream_plan models_plan; /* what it says */
	const char *save_folder;
	const char *key_file;
	char *key; /* NULL: anybody may call */
	uint64_t port;
	uint64_t keep_alive_ms; /* 0: idle connections stay open */
};

enum options_result upstream_settings_load(struct upstream_settings *settings,
					   int argc, char **argv,
					   struct error *err) MUST_USE;
void upstream_settings_release(struct upstream_settings *settings);

/* For the call of that number, from 0; the script's last line repeats. */
const struct upstream_plan *upstream_plan_for(
	const struct upstream_settings *settings, uint64_t call);

#endif
