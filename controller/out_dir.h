#ifndef CONTROLLER_OUT_DIR_H
#define CONTROLLER_OUT_DIR_H

#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * The folder on the host that holds what a rollout leaves.  All paths begin
 * with the folder's.
 */
struct out_dir {
	char *path;
	char *result;       /* result.json */
	char *trace;        /* proxy_trace.jsonl.zst */
	char *proxy_log;    /* proxy.log */
	char *agent_log;    /* agent.jsonl */
	char *agent_stderr; /* agent.stderr */
	char *files;        /* files/ */
	char *marker;       /* .running: there as long as it is ours */
};

/*
 * Made with its parents.  ERROR_USAGE: there is something in it already, or
 * another octap is just taking it: of several at once one gets it.
 */
bool out_dir_make(struct out_dir *dir, const char *path,
		  struct error *err) MUST_USE;

/*
 * Write what came out of a sandbox, whole or not at all: on a full disk the
 * result still has to find room.  In black_box mode an agent holds the key
 * of the model server and may have put it anywhere: it is masked.
 */
bool out_dir_write(const char *path, struct span bytes,
		   struct error *err) MUST_USE;

void out_dir_release(struct out_dir *dir);

#endif
