#ifndef CONTROLLER_VERIFY_H
#define CONTROLLER_VERIFY_H

#include "controller/commands.h"
#include "controller/stage.h"
#include "controller/task.h"
#include "shared/compiler.h"
#include "shared/error.h"

/*
 * Scoring, in a purged sandbox: the hidden files are written, the verify
 * commands run (none stops the others), the reward is worked out.
 *
 * What the agent wrote runs within the commands, so they are kept apart: before
 * each of them everything that still runs is killed and the hidden files are
 * written anew.
 *
 * Reward = commands that exited 0 / commands, unless one of them wrote a finite
 * number in [0, 1] to the reward file; without commands there is none.  That
 * file counts only after a command that uses it: its text names it, or that of
 * a hidden file does.  It is put back to what such commands made of it before
 * each command, so nothing else that runs in a sandbox can set it.
 */
#define VERIFY_LOG_DIR     "/home/user/logs"
#define VERIFY_DIR         VERIFY_LOG_DIR "/verifier"
#define VERIFY_REWARD_FILE VERIFY_DIR "/reward.txt"

/* The same, as whoever is at home there may say it. */
#define VERIFY_REWARD_BELOW_HOME "logs/verifier/reward.txt"

/* `err` NULL unless the sandbox failed; then the reward is of no value. */
typedef void verify_done_fn(const struct error *err, void *arg);

enum verify_step {
	VERIFY_STAGING,
	VERIFY_COMMAND,
	VERIFY_READING,
	VERIFY_PURGING,
};

struct verify {
	struct sandbox *sandbox;
	const struct task *task;
	verify_done_fn *on_done;
	void *arg;
	enum verify_step step;
	struct stage stage;
	struct commands commands;
	const char **env;
	bool hidden_use_reward; /* every command may write the reward file */
	char *reward_text;      /* what the reward file held last, or NULL */
	size_t reward_len;
	bool has_reward;
	double reward;
	char *override_ignored; /* text of a reward file that did not count */
};

void verify_init(struct verify *verify);
void verify_begin(struct verify *verify, struct sandbox *sandbox,
		  const struct task *task, verify_done_fn *on_done, void *arg);
void verify_on_event(struct verify *verify, const struct sandbox_event *event);
void verify_release(struct verify *verify);

/*
 * The number that a reward file says; false: it does not count.  White space
 * around it is allowed, anything else is not.
 */
bool verify_parse_reward(struct span text, double *reward);

#endif
