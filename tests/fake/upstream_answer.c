/* What the fake model server sends, faults included. */
#include "tests/fake/upstream_answer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/file.h"
#include "shared/json_scan.h"
#include "shared/limits.h"

#define ERROR_EVENT                                                     \
	"data: {\"error\": {\"message\": \"engine died\", \"type\": "   \
	"\"InternalServerError\", \"param\": null, \"code\": 500}}\n\n" \
	"data: [DONE]\n\n"

#define PAGE "<!DOCTYPE html>\n<html><body>Please sign in.</body></html>\n"

/* The parts of an answer by --chunk random. */
#define RANDOM_CHUNK 300

static bool asks_for(struct span request, const char *member)
{
	struct json_value value;

	return json_find(request, member, &value) && value.type == JSON_TRUE;
}

/* Mapped, not read: a stream may be larger than what should be held. */
static bool map_file(struct upstream_answer *a, const char *path,
		     struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return error_set_errno(err, errno, "open %s", path);
	if (status.st_size) {
		a->map_len = (size_t)status.st_size;
		a->map = mmap(NULL, a->map_len, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	close(fd);
	if (a->map == MAP_FAILED) {
		a->map = NULL;
		return error_set_errno(err, errno, "map %s", path);
	}
	a->body = span_from(a->map, a->map_len);
	return true;
}

static bool is_finish(struct span event)
{
	return span_contains(event, "\"finish_reason\":\"");
}

static struct span next_event(struct span *rest)
{
	const char *end = memmem(rest->data, rest->len, "\n\n", 2);
	size_t len = end ? (size_t)(end - rest->data) + 2 : rest->len;
	struct span event = span_from(rest->data, len);

	*rest = span_after(*rest, len);
	return event;
}

/* How much of the stream stays before a hang. */
static size_t end_of_finish(struct span stream)
{
	struct span rest = stream;
	size_t end = stream.len;

	while (rest.len)
		if (is_finish(next_event(&rest)))
			end = stream.len - rest.len;
	return end;
}

/* The stream's events without those that the fault takes away. */
static bool edit_stream(struct upstream_answer *a, struct error *err)
{
	const struct upstream_plan *plan = a->plan;
	size_t end = a->body.len;
	struct span rest = a->body;

	if (plan->fault == FAULT_HANG_AFTER_FINISH)
		end = end_of_finish(a->body);
	if (plan->fault == FAULT_ERROR_EVENT)
		end = plan->fault_after;
	while (rest.len && a->body.len - rest.len < end) {
		struct span event = next_event(&rest);

		if ((plan->fault == FAULT_NO_FINISH && is_finish(event)) ||
		    (plan->fault == FAULT_NO_DONE &&
		     span_is(event, "data: [DONE]\n\n")))
			continue;
		if (!buf_add(&a->edited, event, err))
			return false;
	}
	if (plan->fault == FAULT_ERROR_EVENT &&
	    !buf_add(&a->edited, SPAN(ERROR_EVENT), err))
		return false;
	a->body = buf_span(&a->edited);
	return true;
}

/* Which file, and what it is called. */
static const char *choose_file(const struct upstream_plan *plan,
			       struct span request, const char **type)
{
	bool stream = asks_for(request, "stream") && plan->status < 400 &&
		      plan->fault != FAULT_JSON_FOR_STREAM;

	*type = stream ? "text/event-stream; charset=utf-8"
		       : "application/json";
	if (plan->plain && !asks_for(request, "logprobs"))
		return plan->plain;
	return stream ? plan->stream : plan->body;
}

/* A Content-Type given replaces ours; one without a value takes it away. */
static bool add_headers(struct upstream_answer *a, const char *type,
			struct error *err)
{
	const struct upstream_plan *plan = a->plan;
	bool typed = false;

	for (size_t i = 0; plan && i < plan->headers.count; i++) {
		const char *line = plan->headers.items[i];

		typed |= !strncasecmp(line, "content-type:", 13);
		if (line[strlen(line) - 1] != ':' &&
		    !buf_addf(&a->head, err, "%s\r\n", line))
			return false;
	}
	if (plan && plan->fault == FAULT_GZIP &&
	    !buf_add(&a->head, SPAN("Content-Encoding: gzip\r\n"), err))
		return false;
	return typed || buf_addf(&a->head, err, "Content-Type: %s\r\n", type);
}

static bool write_head(struct upstream_answer *a, unsigned status,
		       const char *type, struct error *err)
{
	const struct upstream_plan *plan = a->plan;

	a->chunked = plan && !plan->content_length && !plan->until_close;
	if (!buf_addf(&a->head, err, "HTTP/1.1 %u Scripted\r\n", status) ||
	    !add_headers(a, type, err))
		return false;
	if (a->chunked)
		return buf_add(&a->head,
			       SPAN("Transfer-Encoding: chunked\r\n\r\n"), err);
	if (plan && plan->until_close)
		return buf_add(&a->head, SPAN("Connection: close\r\n\r\n"),
			       err);
	return buf_addf(&a->head, err, "Content-Length: %zu\r\n\r\n",
			a->body.len);
}

/* What a fault leaves of the bytes, and how it ends. */
static void plan_ending(struct upstream_answer *a)
{
	const struct upstream_plan *plan = a->plan;

	switch (plan->fault) {
	case FAULT_CUT:
	case FAULT_RST:
		if (plan->fault_after < a->limit)
			a->limit = plan->fault_after;
		a->ending =
			plan->fault == FAULT_CUT ? ENDING_CLOSE : ENDING_RESET;
		break;
	case FAULT_SILENT:
		buf_clear(&a->head);
		a->limit = 0;
		a->ending = ENDING_HANG;
		break;
	case FAULT_CLOSE_BEFORE_HEAD:
		buf_clear(&a->head);
		a->limit = 0;
		a->ending = ENDING_CLOSE;
		break;
	case FAULT_HALF_HEAD:
		a->head.len /= 2;
		a->limit = 0;
		a->ending = ENDING_CLOSE;
		break;
	case FAULT_RAW:
		a->head_sent = true;
		a->chunked = false;
		a->ending = ENDING_CLOSE;
		break;
	case FAULT_HANG_AFTER_FINISH:
		a->ending = ENDING_HANG;
		break;
	default:
		a->ending = plan->until_close ? ENDING_CLOSE : ENDING_KEEP;
		break;
	}
}

static void init(struct upstream_answer *a, const struct upstream_plan *plan)
{
	*a = (struct upstream_answer){
		.plan = plan,
		.seed = plan ? plan->chunk_seed : 0,
	};
	buf_init(&a->head, LIMIT_HTTP_HEADERS);
	buf_init(&a->edited, LIMIT_REPLY_BODY);
}

/* The first member of the request that is refused; NULL: none is. */
static const char *refused_member(const struct upstream_plan *plan,
				  struct span request)
{
	struct json_value value;

	for (size_t i = 0; i < plan->refused.count; i++)
		if (json_find(request, plan->refused.items[i], &value) &&
		    value.type != JSON_NULL)
			return plan->refused.items[i];
	return NULL;
}

static bool refuse(struct upstream_answer *a, const struct upstream_plan *plan,
		   const char *member, struct error *err)
{
	init(a, plan);
	if (plan->refusal
		    ? !file_read(plan->refusal, &a->edited, err)
		    : !buf_addf(&a->edited, err,
				"{\"error\":{\"message\":\"Unsupported "
				"parameter: '%s' is not supported with this "
				"model.\",\"type\":\"invalid_request_error\","
				"\"param\":\"%s\",\"code\":"
				"\"unsupported_parameter\"}}",
				member, member))
		return false;
	a->body = buf_span(&a->edited);
	a->limit = a->body.len;
	a->ending = ENDING_KEEP;
	return write_head(a, 400, "application/json", err);
}

bool upstream_answer_call(struct upstream_answer *a,
			  const struct upstream_plan *plan, struct span request,
			  struct error *err)
{
	const char *type, *file = choose_file(plan, request, &type);
	const char *refused = refused_member(plan, request);
	bool ok;

	if (refused)
		return refuse(a, plan, refused, err);
	init(a, plan);
	if (plan->fault == FAULT_HTML) {
		type = "text/html";
		a->body = SPAN(PAGE);
		ok = true;
	} else if (!file) {
		ok = error_set(err, ERROR_USAGE,
			       "no file to answer this call with");
	} else {
		ok = map_file(a, file, err);
	}
	if (plan->fault == FAULT_NO_DONE || plan->fault == FAULT_NO_FINISH ||
	    plan->fault == FAULT_ERROR_EVENT ||
	    plan->fault == FAULT_HANG_AFTER_FINISH)
		ok = ok && edit_stream(a, err);
	ok = ok && write_head(a, (unsigned)plan->status, type, err);
	a->limit = a->body.len;
	plan_ending(a);
	if (!ok)
		upstream_answer_release(a);
	return ok;
}

bool upstream_answer_json(struct upstream_answer *a, unsigned status,
			  const char *json, struct error *err)
{
	init(a, NULL);
	if (!buf_add(&a->edited, span_of(json), err))
		return false;
	a->body = buf_span(&a->edited);
	a->limit = a->body.len;
	if (write_head(a, status, "application/json", err))
		return true;
	upstream_answer_release(a);
	return false;
}

static size_t piece_length(struct upstream_answer *a)
{
	size_t left = a->body.len - a->sent;
	size_t len = left;

	if (a->plan && a->plan->chunk_bytes)
		len = a->plan->chunk_bytes;
	else if (a->plan)
		len = 1 + (size_t)rand_r(&a->seed) % RANDOM_CHUNK;
	return len < left ? len : left;
}

/* The chunk's length is the whole one's even if a fault cuts it. */
static bool add_piece(struct upstream_answer *a, struct buf *out,
		      struct error *err)
{
	size_t len = piece_length(a);
	size_t allowed = a->limit - a->sent < len ? a->limit - a->sent : len;
	struct span bytes = span_from(a->body.data + a->sent, allowed);

	a->sent += allowed;
	if (a->chunked && !buf_addf(out, err, "%zx\r\n", len))
		return false;
	return buf_add(out, bytes, err) && (!a->chunked || allowed < len ||
					    buf_add(out, SPAN("\r\n"), err));
}

bool upstream_answer_next(struct upstream_answer *a, struct buf *out,
			  struct error *err)
{
	if (!a->head_sent) {
		a->head_sent = true;
		return buf_add(out, buf_span(&a->head), err);
	}
	if (a->sent == a->limit && a->plan && a->plan->endless)
		a->sent = 0;
	if (a->sent < a->limit)
		return add_piece(a, out, err);
	if (a->ended || !a->chunked || a->ending != ENDING_KEEP)
		return true;
	a->ended = true;
	return buf_add(out, SPAN("0\r\n\r\n"), err);
}

void upstream_answer_release(struct upstream_answer *a)
{
	buf_release(&a->head);
	buf_release(&a->edited);
	if (a->map)
		munmap(a->map, a->map_len);
	a->map = NULL;
}
