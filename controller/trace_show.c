/* Printing one turn. */
#include "controller/trace_show.h"

#include <inttypes.h>
#include <string.h>

#include "controller/terminal.h"
#include "controller/trace_summary.h"
#include "shared/json_scan.h"
#include "shared/json_text.h"
#include "shared/limits.h"

/* Log-probabilities below these are worth a look, or a second one. */
#define UNSURE   (-0.5)
#define SURPRISE (-2.0)

static void print_span(FILE *f, struct span text)
{
	terminal_print(f, text.data, text.len);
}

/* A JSON string as its text; anything else as it stands. */
static void print_value(FILE *f, struct json_value value)
{
	struct error err;
	struct buf text;

	if (value.type != JSON_STRING) {
		print_span(f, value.text);
		return;
	}
	buf_init(&text, LIMIT_TURN_PART);
	if (json_unescape(value, &text, &err))
		print_span(f, buf_span(&text));
	buf_release(&text);
}

static void print_title(FILE *f, const char *title)
{
	fprintf(f, "\n%s%s%s\n", terminal_begin(f, COLOUR_BOLD), title,
		terminal_end(f));
}

static void print_member(FILE *f, const char *name, struct span json)
{
	if (!json.len)
		return;
	fprintf(f, "  %-18s ", name);
	print_span(f, json);
	putc('\n', f);
}

static void print_facts(FILE *f, const struct turn *t)
{
	struct turn_line line;

	turn_line_make(t, &line);
	fprintf(f, "%sTurn %" PRIu64 "%s  %s  %s  %" PRIu64 " tokens",
		terminal_begin(f, COLOUR_BOLD), t->number, terminal_end(f),
		turn_kind_name(t->kind), token_status_name(t->token_status),
		line.tokens);
	if (line.has_logprobs)
		fprintf(f, "  mean log-probability %.4f", line.mean_logprob);
	fprintf(f, "\n  %-18s %.3f s, first token after %.3f s\n", "time",
		(double)t->latency_us / 1e6, (double)t->ttft_us / 1e6);
	print_member(f, "model", t->upstream_model);
	print_member(f, "finish_reason", t->finish_reason);
	print_member(f, "session", t->session_id);
	print_member(f, "parent session", t->parent_session_id);
	print_member(f, "usage", t->usage);
	print_member(f, "sampling", t->sampling);
	if (!t->complete || !t->delivered)
		fprintf(f, "  %-18s %s, %s  %.*s\n", "ended",
			t->complete ? "complete" : "incomplete",
			t->delivered ? "delivered" : "not delivered",
			(int)t->abort_reason.len,
			t->abort_reason.len ? t->abort_reason.data : "");
}

/* The last message of the request, which this turn answers. */
static void print_question(FILE *f, const struct turn *t)
{
	struct json_value messages, message = JSON_VALUE_NONE;
	struct json_value role = JSON_VALUE_NONE, content = JSON_VALUE_NONE;
	struct json_cursor c;
	uint64_t count = 0;

	if (!json_find(t->request, "messages", &messages))
		return;
	json_open(&c, messages.text);
	json_enter_array(&c);
	for (; json_next_item(&c) && json_read(&c, &message); count++)
		;
	json_find(message.text, "role", &role);
	json_find(message.text, "content", &content);
	print_title(f, "Asked last");
	fprintf(f, "(message %" PRIu64 ", ", count);
	print_value(f, role);
	fprintf(f, ")\n");
	print_value(f, content);
	putc('\n', f);
}

static enum colour colour_of(double logprob)
{
	if (logprob < SURPRISE)
		return COLOUR_RED;
	return logprob < UNSURE ? COLOUR_YELLOW : COLOUR_NONE;
}

/* Token by token; false: the record has none. */
static bool print_tokens(FILE *f, const struct turn *t)
{
	struct json_cursor tokens, logps;
	struct json_value token, logp;
	double number;

	if (!t->completion_tokens.len)
		return false;
	json_open(&tokens, t->completion_tokens);
	json_open(&logps, t->per_token_logps);
	json_enter_array(&tokens);
	json_enter_array(&logps);
	while (json_next_item(&tokens) && json_read(&tokens, &token)) {
		enum colour colour = COLOUR_NONE;

		if (json_next_item(&logps) && json_read(&logps, &logp) &&
		    json_to_double(logp, &number))
			colour = colour_of(number);
		fprintf(f, "%s", terminal_begin(f, colour));
		print_value(f, token);
		fprintf(f, "%s", colour ? terminal_end(f) : "");
	}
	putc('\n', f);
	return true;
}

static bool first_message(const struct turn *t, struct json_value *message)
{
	struct json_value choices, choice;
	struct json_cursor c;

	if (!json_find(t->response, "choices", &choices))
		return false;
	json_open(&c, choices.text);
	json_enter_array(&c);
	return json_next_item(&c) && json_read(&c, &choice) &&
	       json_find(choice.text, "message", message);
}

static void print_message(FILE *f, const struct turn *t)
{
	static const char *const names[] = { "reasoning", "reasoning_content",
					     "content", "tool_calls" };
	struct json_value v[ARRAY_LEN(names)], message, error;

	if (first_message(t, &message)) {
		json_pick(message.text, names, v, ARRAY_LEN(names));
		print_title(f, "Answered");
		for (size_t i = 0; i < ARRAY_LEN(names); i++)
			if (v[i].type == JSON_STRING ||
			    v[i].type == JSON_ARRAY) {
				print_value(f, v[i]);
				putc('\n', f);
			}
	}
	if (json_find(t->response, "upstream_error", &error)) {
		print_title(f, "Refused");
		print_value(f, error);
		putc('\n', f);
	}
}

void trace_show_turn(FILE *f, const struct turn *t)
{
	print_facts(f, t);
	print_question(f, t);
	print_message(f, t);
	if (t->completion_tokens.len) {
		print_title(f, "Tokens");
		print_tokens(f, t);
	}
}
