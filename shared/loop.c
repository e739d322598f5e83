/* The event loop: a thin cover over libevent's event_base. */
#include "shared/loop.h"

#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "shared/log.h"
#include "shared/mem.h"

#define SIGNALS 8

struct deferred {
	loop_fn *free_fn;
	void *object;
};

struct signal_handler {
	struct event *event;
	loop_signal_fn *fn;
	void *arg;
};

struct loop {
	struct event_base *base;
	bool stopped;
	struct deferred *deferred;
	size_t deferred_count, deferred_alloc;
	struct signal_handler signals[SIGNALS];
	size_t signal_count;
};

struct loop_timer {
	struct event *event;
	loop_fn *fn;
	void *arg;
};

struct loop_watch {
	struct event *event;
	loop_fd_fn *fn;
	void *arg;
};

static void log_from_libevent(int severity, const char *message)
{
	if (severity >= EVENT_LOG_ERR)
		log_error("libevent", "%s", message);
	else if (severity == EVENT_LOG_WARN)
		log_warn("libevent", "%s", message);
	else
		log_debug("libevent", "%s", message);
}

/* What is watched is told the kernel once a turn, not at every change. */
static struct event_base *make_base(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base;

	if (!config)
		return NULL;
	event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
	base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

struct loop *loop_new(struct error *err)
{
	struct event_base *base;
	struct loop *loop;

	event_set_log_callback(log_from_libevent);
	base = make_base();
	if (!base) {
		error_set(err, ERROR_SYSTEM, "no event loop");
		return NULL;
	}
	/*
	 * A peer that hangs up shows as an error of the write, and so does a
	 * file that may not grow.
	 */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	loop = xcalloc(1, sizeof(*loop));
	loop->base = base;
	return loop;
}

static void free_deferred(struct loop *loop)
{
	/* Freeing one object may defer another. */
	for (size_t i = 0; i < loop->deferred_count; i++) {
		struct deferred d = loop->deferred[i];

		d.free_fn(d.object);
	}
	loop->deferred_count = 0;
}

/* Blocked in between: removing the event brings the default back. */
static void ignore_from_now(const struct signal_handler *handler)
{
	int number = event_get_signal(handler->event);
	sigset_t only, before;

	sigemptyset(&only);
	sigaddset(&only, number);
	sigprocmask(SIG_BLOCK, &only, &before);
	event_free(handler->event);
	signal(number, SIG_IGN);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	free_deferred(loop);
	for (size_t i = 0; i < loop->signal_count; i++)
		ignore_from_now(&loop->signals[i]);
	event_base_free(loop->base);
	free(loop->deferred);
	free(loop);
}

struct event_base *loop_base(struct loop *loop)
{
	return loop->base;
}

void loop_run(struct loop *loop)
{
	while (!loop->stopped) {
		int flags = EVLOOP_ONCE;

		if (loop->deferred_count)
			flags |= EVLOOP_NONBLOCK;
		if (event_base_loop(loop->base, flags) != 0)
			break;
		free_deferred(loop);
	}
}

void loop_stop(struct loop *loop)
{
	loop->stopped = true;
	event_base_loopbreak(loop->base);
}

void loop_defer_free(struct loop *loop, loop_fn *free_fn, void *object)
{
	if (loop->deferred_count == loop->deferred_alloc) {
		loop->deferred_alloc += 16;
		loop->deferred =
			xrealloc_array(loop->deferred, loop->deferred_alloc,
				       sizeof(*loop->deferred));
	}
	loop->deferred[loop->deferred_count++] =
		(struct deferred){ free_fn, object };
}

static void on_timer(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct loop_timer *timer = arg;

	timer->fn(timer->arg);
}

struct loop_timer *loop_timer_new(struct loop *loop, loop_fn *fn, void *arg)
{
	struct loop_timer *timer = xcalloc(1, sizeof(*timer));

	timer->fn = fn;
	timer->arg = arg;
	timer->event = evtimer_new(loop->base, on_timer, timer);
	return timer;
}

void loop_timer_start(struct loop_timer *timer, uint64_t ms)
{
	struct timeval delay = {
		.tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000 * 1000),
	};

	evtimer_add(timer->event, &delay);
}

void loop_timer_stop(struct loop_timer *timer)
{
	evtimer_del(timer->event);
}

void loop_timer_free(struct loop_timer *timer)
{
	if (!timer)
		return;
	event_free(timer->event);
	free(timer);
}

static void on_ready(evutil_socket_t fd, short what UNUSED, void *arg)
{
	struct loop_watch *watch = arg;

	watch->fn(fd, watch->arg);
}

struct loop_watch *loop_watch_readable(struct loop *loop, int fd,
				       loop_fd_fn *fn, void *arg)
{
	struct loop_watch *watch = xcalloc(1, sizeof(*watch));

	watch->fn = fn;
	watch->arg = arg;
	watch->event = event_new(loop->base, fd, EV_READ | EV_PERSIST, on_ready,
				 watch);
	event_add(watch->event, NULL);
	return watch;
}

void loop_watch_free(struct loop_watch *watch)
{
	if (!watch)
		return;
	event_free(watch->event);
	free(watch);
}

static void on_signal(evutil_socket_t number, short what UNUSED, void *arg)
{
	struct signal_handler *handler = arg;

	handler->fn((int)number, handler->arg);
}

bool loop_on_signal(struct loop *loop, int signal_number, loop_signal_fn *fn,
		    void *arg, struct error *err)
{
	struct signal_handler *handler;

	if (loop->signal_count == SIGNALS)
		return error_set(err, ERROR_SYSTEM, "too many signals");
	handler = &loop->signals[loop->signal_count];
	handler->fn = fn;
	handler->arg = arg;
	handler->event =
		evsignal_new(loop->base, signal_number, on_signal, handler);
	loop->signal_count += handler->event != NULL;
	if (!handler->event || evsignal_add(handler->event, NULL) < 0)
		return error_set(err, ERROR_SYSTEM, "cannot catch signal %d",
				 signal_number);
	return true;
}
