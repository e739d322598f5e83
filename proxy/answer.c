/* Answers: observed, edited, the end held back. */
#include "proxy/answer.h"

#include <stdlib.h>
#include <string.h>

#include "proxy/data_lines.h"
#include "proxy/reply.h"
#include "shared/limits.h"
#include "shared/mem.h"

void answer_init(struct answer *answer, const struct rewrite *rewrite,
		 uint64_t start_us)
{
	*answer = (struct answer){
		.strip = {
			.logprobs = rewrite->added_logprobs,
			.token_ids = rewrite->added_token_ids,
			.usage = rewrite->added_usage,
			.sglext = rewrite->added_sglext,
			.splices = SPLICE_LIST_INIT,
		},
	};
	sse_init(&answer->sse, LIMIT_SSE_EVENT);
	assemble_init(&answer->assembler, start_us);
	buf_init(&answer->out, LIMIT_REPLY_BODY);
	buf_init(&answer->held, LIMIT_REPLY_BODY);
	buf_init(&answer->waiting, LIMIT_REPLY_BODY);
}

void answer_release(struct answer *answer)
{
	sse_release(&answer->sse);
	strip_release(&answer->strip);
	assemble_release(&answer->assembler);
	buf_release(&answer->out);
	buf_release(&answer->held);
	buf_release(&answer->waiting);
	free(answer->insert_at);
}

/* Data of several lines: edited where they stand, with all that is beside. */
static bool pass_edited_lines(struct answer *answer,
			      const struct sse_event *event, struct buf *to,
			      struct error *err)
{
	struct splice_list edits = SPLICE_LIST_INIT;
	bool ok;

	data_lines_splices(event, &answer->strip.splices, &edits);
	ok = splice_apply(&edits, event->raw, to, err);
	splice_release(&edits);
	return ok;
}

static bool pass_edited(struct answer *answer, const struct sse_event *event,
			struct buf *to, struct error *err)
{
	struct span raw = event->raw;
	size_t before, after;

	if (!event->data_in_raw)
		return pass_edited_lines(answer, event, to, err);
	before = (size_t)(event->data.data - raw.data);
	after = before + event->data.len;
	return buf_add(to, span_from(raw.data, before), err) &&
	       splice_apply(&answer->strip.splices, event->data, to, err) &&
	       buf_add(to, span_after(raw, after), err);
}

static struct buf *destination(struct answer *answer)
{
	return answer->holding ? &answer->held : &answer->out;
}

static void note_finish(struct answer *answer, const struct buf *to)
{
	if (to == &answer->out && assemble_is_finished(&answer->assembler))
		answer->finish_passed = true;
}

/* Data of several lines may have them anywhere between two tokens. */
static bool add_on_one_line(struct buf *to, struct span json, struct error *err)
{
	bool ok = true;

	while (ok && json.len) {
		size_t len = span_line_length(json);

		ok = buf_add(to, span_from(json.data, len), err);
		json = span_after(json, len < json.len ? len + 1 : len);
	}
	return ok;
}

/* Let go of what waited, with the member that it waited for, if it came. */
static bool release_waiting(struct answer *answer, struct span member,
			    struct error *err)
{
	struct buf *to = destination(answer);
	struct span rest = buf_span(&answer->waiting);
	size_t done = 0;

	for (size_t i = 0; member.len && i < answer->insert_count; i++) {
		size_t len = answer->insert_at[i] - done;

		if (!buf_add(to, span_from(rest.data, len), err) ||
		    !buf_add(to, SPAN(","), err) ||
		    !add_on_one_line(to, member, err))
			return false;
		rest = span_after(rest, len);
		done += len;
	}
	if (!buf_add(to, rest, err))
		return false;
	if (answer->insert_count)
		note_finish(answer, to);
	buf_clear(&answer->waiting);
	answer->insert_count = 0;
	return true;
}

static bool must_wait(const struct answer *answer)
{
	return strip_moves_member(&answer->strip) && !answer->holding &&
	       (answer->strip.finishes || answer->waiting.len);
}

/* From where a moved member belongs to the end of the edited event. */
static size_t length_behind_moved(const struct strip *strip,
				  const struct sse_event *event)
{
	struct splice_list edits = SPLICE_LIST_INIT;
	size_t at = data_lines_offset(event, strip->moved_at), len;

	data_lines_splices(event, &strip->splices, &edits);
	len = splice_length_from(&edits, event->raw.len, at);
	splice_release(&edits);
	return len;
}

/* The event is the last in `waiting`: remember where its member will go. */
static void note_insertion(struct answer *answer, const struct sse_event *event)
{
	if (!answer->strip.finishes)
		return;
	answer->insert_at =
		xrealloc_array(answer->insert_at, answer->insert_count + 1,
			       sizeof(*answer->insert_at));
	answer->insert_at[answer->insert_count++] =
		answer->waiting.len -
		length_behind_moved(&answer->strip, event);
}

/* An error may quote the key. */
static bool pass_error(struct answer *answer, const struct sse_event *event,
		       struct error *err)
{
	struct buf *to = destination(answer);
	size_t start;

	if (!release_waiting(answer, SPAN_NONE, err))
		return false;
	start = to->len;
	if (!buf_add(to, event->raw, err))
		return false;
	if (answer->mask)
		answer->mask(to->data + start, to->len - start);
	return true;
}

static bool pass(struct answer *answer, const struct sse_event *event,
		 struct error *err)
{
	enum strip_result result = strip_event(&answer->strip, event->data);
	bool wait = must_wait(answer);
	struct buf *to = wait ? &answer->waiting : destination(answer);

	answer->dropped = result == STRIP_DROP;
	if (answer->dropped)
		return !answer->strip.moved.len ||
		       release_waiting(answer, answer->strip.moved, err);
	if (!(result == STRIP_EDIT ? pass_edited(answer, event, to, err)
				   : buf_add(to, event->raw, err)))
		return false;
	if (wait)
		note_insertion(answer, event);
	else if (answer->strip.finishes)
		note_finish(answer, to);
	return true;
}

/* Its last LF may still be on its way when it is reported. */
static bool pass_done(struct answer *answer, const struct sse_event *event,
		      struct error *err)
{
	bool cut = span_ends_with(event->raw, "\n\r");

	answer->holding = true;
	return release_waiting(answer, SPAN_NONE, err) &&
	       pass(answer, event, err) &&
	       (!cut || buf_add(&answer->held, SPAN("\n"), err));
}

static bool take_event(struct answer *answer, const struct sse_event *event,
		       struct error *err)
{
	bool had_error = assemble_has_error(&answer->assembler);

	if (span_is(span_trim(event->data), "[DONE]"))
		return pass_done(answer, event, err);
	if (event->has_data && !assemble_event(&answer->assembler, event->data,
					       answer->now_us, err))
		return false;
	return assemble_has_error(&answer->assembler) && !had_error
		       ? pass_error(answer, event, err)
		       : pass(answer, event, err);
}

/* The LF of a CRLF whose CR ended the event before: it goes where that went. */
static bool pass_line_feed(struct answer *answer, struct error *err)
{
	return answer->dropped ||
	       buf_add(answer->waiting.len ? &answer->waiting
					   : destination(answer),
		       SPAN("\n"), err);
}

/* An event that begins with a line feed is that, or nothing else. */
static bool take_line_feed(struct answer *answer, struct sse_event *event,
			   struct error *err)
{
	if (event->raw.len < 2 || event->raw.data[0] != '\n')
		return true;
	event->raw = event->text = span_after(event->raw, 1);
	return pass_line_feed(answer, err);
}

/* Two walk over the event: its parts are found once. */
static bool on_event(const struct sse_event *reported, void *arg)
{
	struct answer *answer = arg;
	struct sse_event event = *reported;
	struct json_index index;
	bool ok;

	json_index_make(&index, event.data, JSON_PARTS_LEVELS);
	answer->strip.index = answer->assembler.index = &index;
	ok = take_line_feed(answer, &event, &answer->err) &&
	     take_event(answer, &event, &answer->err);
	answer->strip.index = answer->assembler.index = NULL;
	return ok && !answer->holding;
}

bool answer_feed(struct answer *answer, struct span bytes, uint64_t now_us,
		 struct error *err)
{
	if (answer->holding)
		return true;
	answer->now_us = now_us;
	answer->err.kind = ERROR_NONE;
	if (!sse_feed(&answer->sse, bytes, on_event, answer, err))
		return false;
	if (answer->err.kind == ERROR_NONE)
		return true;
	*err = answer->err;
	return false;
}

bool answer_let_go(struct answer *answer, struct error *err)
{
	return release_waiting(answer, SPAN_NONE, err);
}

/* Before the [DONE] that is held already. */
static bool hold_error(struct answer *answer, struct error *err)
{
	struct buf event;
	bool ok;

	buf_init(&event, LIMIT_REPLY_BODY);
	ok = reply_error_event(REPLY_UNFINISHED, &event, err) &&
	     buf_add(&event, buf_span(&answer->held), err);
	buf_release(&answer->held);
	answer->held = event;
	answer->added_error = true;
	return ok;
}

bool answer_finish(struct answer *answer, uint64_t now_us, struct error *err)
{
	struct span rest;

	answer->now_us = now_us;
	answer->err.kind = ERROR_NONE;
	if (!sse_finish(&answer->sse, on_event, answer, err))
		return false;
	if (answer->err.kind != ERROR_NONE) {
		*err = answer->err;
		return false;
	}
	rest = sse_rest(&answer->sse);
	if (span_starts_with(rest, "\n") && !span_trim(rest).len &&
	    !pass_line_feed(answer, err))
		return false;
	answer->holding = true;
	if (!release_waiting(answer, SPAN_NONE, err))
		return false;
	if (assemble_is_finished(&answer->assembler) ||
	    assemble_has_error(&answer->assembler))
		return true;
	return hold_error(answer, err);
}

bool answer_whole(struct answer *answer, struct span body, struct error *err)
{
	if (!assemble_response(&answer->assembler, body, err))
		return false;
	if (strip_response(&answer->strip, body) == STRIP_KEEP)
		return buf_add(&answer->held, body, err);
	return splice_apply(&answer->strip.splices, body, &answer->held, err);
}
