#ifndef CONTROLLER_SANDBOX_SANDBOX_H
#define CONTROLLER_SANDBOX_SANDBOX_H

#include <stddef.h>
#include <stdint.h>

#include "shared/compiler.h"
#include "shared/error.h"
#include "shared/span.h"

/*
 * A sandbox is one isolated machine; a backend is a way to get one.
 *
 * Every operation is asynchronous: it returns false at once if it could not
 * even start, otherwise its outcome arrives later as one event, never from
 * inside the call.  A sandbox does one thing of {create, write, read, purge} at
 * a time and refuses a second; jobs and the proxy run beside it.
 *
 * The order is: create; write, jobs, proxy; the agent as a job; purge; write
 * again, jobs (the verifier); read; destroy.  Paths are those inside, absolute,
 * below SANDBOX_HOME or SANDBOX_TMP.
 *
 * What runs inside is not trusted: a backend opens what it reads so that no
 * link or fifo leads it astray, and kills so that nothing survives.
 */
#define SANDBOX_HOME "/home/user"
#define SANDBOX_TMP  "/tmp"

struct sandbox;
struct job;
struct loop;

enum sandbox_event_type {
	SANDBOX_READY,       /* create: usable now */
	SANDBOX_WRITTEN,     /* write_file, fresh_dir, remove */
	SANDBOX_CONTENT,     /* read_file: `bytes` is the whole file, or its
				ends with `skipped` bytes between them */
	SANDBOX_JOB_OUTPUT,  /* `job`, `bytes`; stderr if `is_stderr` */
	SANDBOX_JOB_EXIT,    /* `job`, `exit_code`; its last event */
	SANDBOX_PURGED,      /* purge: nothing runs inside, jobs may start */
	SANDBOX_PROXY_READY, /* it listens: `port` as the agent sees it */
	SANDBOX_PROXY_EXIT,  /* it ended: `exit_code`; trace and log are at the
				paths of its spec, `bytes` is its last line */
	SANDBOX_FAILED,      /* the operation under way: see `err` */
	SANDBOX_GONE,        /* destroy: last event, the sandbox is freed */
};

struct sandbox_event {
	enum sandbox_event_type type;
	struct job *job;
	struct span bytes;
	uint64_t skipped;
	int exit_code; /* 128 + the signal's number, if killed by one */
	unsigned port;
	bool is_stderr;
	const struct error *err;
};

typedef void sandbox_event_fn(struct sandbox *sandbox,
			      const struct sandbox_event *event, void *arg);

/* What a backend needs of the host. */
struct sandbox_host {
	struct loop *loop;
	const char *proxy_path; /* octap-proxy */
	const char *state_dir;  /* folder for sandbox folders */
	bool swept;             /* leftovers of earlier runs were looked for */
};

struct sandbox_spec {
	const char *id;           /* of the rollout; names the sandbox */
	const char *agent_binary; /* to be found inside as AGENT_PATH */
};

#define SANDBOX_AGENT_PATH "/opt/octap/agent"

struct job_spec {
	const char *command; /* for `bash -c` inside */
	const char *cwd;
	const char *const *env; /* "NAME=value", NULL-terminated */
};

/* The proxy of one rollout.  Its keys go by descriptor, never by argv. */
struct proxy_spec {
	const char *const *options; /* of octap-proxy, NULL-terminated */
	const char *upstream_key;
	const char *client_key;
	const char *trace_path; /* on the host */
	const char *log_path;   /* on the host */
};

/* What a backend implements. */
struct sandbox_ops {
	const char *name; /* "bwrap", as on the command line */
	size_t size;      /* of the backend's struct */

	/* May the agent read this path of the host (absolute, no links)? */
	bool (*shows)(const char *path);

	bool (*create)(struct sandbox *, const struct sandbox_spec *,
		       struct error *);
	bool (*write_file)(struct sandbox *, const char *path, struct span,
			   bool executable, struct error *);
	bool (*fresh_dir)(struct sandbox *, const char *path, struct error *);
	bool (*remove)(struct sandbox *, const char *path, struct error *);
	bool (*read_file)(struct sandbox *, const char *path, size_t limit,
			  bool ends, struct error *);
	struct job *(*start_job)(struct sandbox *, const struct job_spec *,
				 struct error *);
	void (*kill_job)(struct sandbox *, struct job *);
	bool (*purge)(struct sandbox *, struct error *);
	bool (*start_proxy)(struct sandbox *, const struct proxy_spec *,
			    struct error *);
	void (*stop_proxy)(struct sandbox *);
	void (*destroy)(struct sandbox *);
};

/* The part that every backend's struct begins with. */
struct sandbox {
	const struct sandbox_ops *ops;
	struct sandbox_host *host;
	sandbox_event_fn *on_event;
	void *arg;
	struct loop_timer *outcome_timer; /* reports `outcome` */
	struct sandbox_event outcome;
	struct error outcome_error;
	bool busy; /* one of the exclusive operations is under way */
};

extern const struct sandbox_ops sandbox_bwrap;

/* NULL: there is no such backend. */
const struct sandbox_ops *sandbox_backend_find(const char *name);

struct sandbox *sandbox_create(const struct sandbox_ops *ops,
			       struct sandbox_host *host,
			       const struct sandbox_spec *spec,
			       sandbox_event_fn *on_event, void *arg,
			       struct error *err);

/* Written whole, parents made; owned by whoever runs jobs inside. */
bool sandbox_write_file(struct sandbox *sandbox, const char *path,
			struct span bytes, bool executable,
			struct error *err) MUST_USE;

/* An empty folder in place of whatever was there. */
bool sandbox_fresh_dir(struct sandbox *sandbox, const char *path,
		       struct error *err) MUST_USE;

/* Whatever is there, if anything is. */
bool sandbox_remove(struct sandbox *sandbox, const char *path,
		    struct error *err) MUST_USE;

/*
 * ERROR_ABSENT: nothing there.  ERROR_REFUSED: it is no regular file, or the
 * way to it is not straight.
 * ERROR_TOO_LARGE: more than `limit` bytes.
 */
bool sandbox_read_file(struct sandbox *sandbox, const char *path, size_t limit,
		       struct error *err) MUST_USE;

/* The same, but of a larger file the first and the last part. */
bool sandbox_read_ends(struct sandbox *sandbox, const char *path, size_t limit,
		       struct error *err) MUST_USE;

struct job *sandbox_start_job(struct sandbox *sandbox,
			      const struct job_spec *spec, struct error *err);

/* With everything in its process group; its exit event still comes. */
void sandbox_kill_job(struct sandbox *sandbox, struct job *job);

/*
 * End every process inside for good and keep the files.  Jobs under way get
 * their exit events first.
 */
bool sandbox_purge(struct sandbox *sandbox, struct error *err) MUST_USE;

bool sandbox_start_proxy(struct sandbox *sandbox, const struct proxy_spec *spec,
			 struct error *err) MUST_USE;

/* Ask it to end; SANDBOX_PROXY_EXIT comes.  Killed if it takes too long. */
void sandbox_stop_proxy(struct sandbox *sandbox);

/*
 * At any time but from inside a SANDBOX_JOB_OUTPUT event: an operation under
 * way is given up without an event, jobs get no exit event any more.
 */
void sandbox_destroy(struct sandbox *sandbox);

/*
 * What comes after "FOLDER/" in a path of plain names: no empty one, no "." or
 * "..", none that is too long for a file.  NULL: it is no such path.
 */
const char *sandbox_path_below(const char *path, const char *folder);

/* For backends: report the outcome of the exclusive operation, later. */
void sandbox_report(struct sandbox *sandbox, struct sandbox_event outcome);
void sandbox_report_failure(struct sandbox *sandbox, const struct error *err);

/* For backends: report something else, now. */
void sandbox_emit(struct sandbox *sandbox, const struct sandbox_event *event);

#endif
