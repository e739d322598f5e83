#ifndef SHARED_LOOP_H
#define SHARED_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/error.h"

/*
 * The one event loop of a program, over libevent.
 *
 * Lifetimes: an object that ends inside a callback hands itself to
 * loop_defer_free() and is freed when the current turn of the loop is over, so
 * that whoever is still on the stack may look at it.
 */
struct loop;
struct loop_timer;
struct event_base;

struct loop *loop_new(struct error *err);

/*
 * The signals of loop_on_signal() are ignored from then on: what the program
 * has come to is settled, and its exit code must say just that.
 */
void loop_free(struct loop *loop);

/* For the I/O modules of shared/ only. */
struct event_base *loop_base(struct loop *loop);

/* Run until loop_stop(). */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

typedef void loop_fn(void *arg);
typedef void loop_fd_fn(int fd, void *arg);
typedef void loop_signal_fn(int signal_number, void *arg);

/* Call free_fn(object) at the end of this turn. */
void loop_defer_free(struct loop *loop, loop_fn *free_fn, void *object);

/* One-shot timers; starting a running one sets it anew. */
struct loop_timer *loop_timer_new(struct loop *loop, loop_fn *fn, void *arg);
void loop_timer_start(struct loop_timer *timer, uint64_t ms);
void loop_timer_stop(struct loop_timer *timer);
void loop_timer_free(struct loop_timer *timer); /* NULL is fine */

/* Call fn whenever `fd` is readable, until freed.  Does not own the fd. */
struct loop_watch;
struct loop_watch *loop_watch_readable(struct loop *loop, int fd,
				       loop_fd_fn *fn, void *arg);
void loop_watch_free(struct loop_watch *watch); /* NULL is fine */

/* Call fn in the loop, not in the handler, for each arrival of the signal. */
bool loop_on_signal(struct loop *loop, int signal_number, loop_signal_fn *fn,
		    void *arg, struct error *err) MUST_USE;

#endif
