/* One printer, run twice with the same seed: asked, and not. */
#include "tests/unit/generate_answer.h"

#include <string.h>

#include "tests/unit/generate.h"
#include "tests/unit/vectors.h"

/* What a server prints; see proxy/dialect.c. */
struct server {
	bool choices_first;
	const char *sign;        /* a member of the outermost object */
	const char *choice_sign; /* of a choice */
	bool logprobs_null;      /* printed as null unasked */
	bool ids_null;
	const char *choice_ids, *root_ids; /* NULL: it has none */
	bool usage_null;   /* with include_usage, in each event */
	const char *moved; /* from the finishing to the usage event */
	bool moved_after_choices;
	bool sglext;
	const char *idle_delta; /* of an event with tokens only; NULL: none */
};

#define UNKNOWN_WITH_NULL 4

static const struct server servers[] = {
	{ .sign = "kv_transfer_params",
	  .logprobs_null = true,
	  .ids_null = true,
	  .choice_ids = "token_ids",
	  .root_ids = "prompt_token_ids",
	  .moved = "system_fingerprint",
	  .moved_after_choices = true,
	  .idle_delta = "" },
	{ .choice_sign = "matched_stop",
	  .logprobs_null = true,
	  .choice_ids = "response_token_ids",
	  .sglext = true,
	  .idle_delta = "reasoning_content" },
	{ .sign = "service_tier", .logprobs_null = true, .usage_null = true },
	{ .choices_first = true, .moved = "timings", .idle_delta = "" },
	/* not known, with null and without */
	[UNKNOWN_WITH_NULL] = { .logprobs_null = true },
	{ .usage_null = false },
};

/* White space is the same in all of an answer, as printers set it. */
static const struct style {
	const char *open, *comma, *colon, *close;
} styles[] = {
	{ "", ",", ":", "" },
	{ "", ", ", ": ", "" },
	{ " ", " ,\t", " : ", "  " },
};

static const char *const line_ends[] = { "\n", "\r\n", "\r" };

struct printer {
	struct rng rng;   /* for what is there either way */
	struct rng extra; /* for what asking brings */
	uint64_t seed;
	const struct server *server;
	const struct style *style;
	const struct rewrite *rewrite;
	const char *line_end;
	unsigned choices;
	bool asked;
	bool any; /* a member was printed already */
	struct buf *out;
};

/* The same spelling of a name each time: one that moves keeps its own. */
static void print_key(struct printer *p, const char *name)
{
	struct rng rng = rng_seeded(p->seed + (unsigned char)name[0]);

	put(p->out, span_of(p->any ? p->style->comma : p->style->open));
	gen_key(&rng, p->out, name);
	put(p->out, span_of(p->style->colon));
	p->any = true;
}

static void print_member(struct printer *p, const char *name, const char *value)
{
	print_key(p, name);
	put(p->out, span_of(value));
}

/* Any value, on one line. */
static void print_value(struct printer *p, struct rng *rng)
{
	size_t start = p->out->len;

	gen_value(rng, p->out, 3);
	for (size_t i = start; i < p->out->len; i++)
		if (p->out->data[i] == '\n' || p->out->data[i] == '\r')
			p->out->data[i] = ' ';
}

/* Begin and end an object; the outer one's members go on behind it. */
static bool print_open(struct printer *p)
{
	bool any = p->any;

	put(p->out, SPAN("{"));
	p->any = false;
	return any;
}

static void print_close(struct printer *p, bool outer_any)
{
	put(p->out, span_of(p->style->close));
	put(p->out, SPAN("}"));
	p->any = outer_any;
}

/* A member that is asked for, in the form `open` value `close`. */
static void print_asked(struct printer *p, const char *name, bool by_agent,
			bool null_unasked, bool has_value)
{
	bool object = name && name[0] == 'l';

	if (!name || (!null_unasked && !(has_value && (by_agent || p->asked))))
		return;
	print_key(p, name);
	if (!has_value || (!by_agent && !p->asked)) {
		put(p->out, SPAN("null"));
		return;
	}
	put(p->out, object ? SPAN("{\"content\":[") : SPAN("["));
	print_value(p, by_agent ? &p->rng : &p->extra);
	put(p->out, object ? SPAN("]}") : SPAN("]"));
}

enum event {
	EVENT_ROLE,
	EVENT_TEXT,
	EVENT_TOKENS, /* and nothing else */
	EVENT_FINISH,
	EVENT_MESSAGE, /* a whole answer */
};

static void print_delta(struct printer *p, enum event event)
{
	bool any;

	print_key(p, event == EVENT_MESSAGE ? "message" : "delta");
	any = print_open(p);
	if (event == EVENT_TOKENS || event == EVENT_FINISH) {
		if (p->server->idle_delta && *p->server->idle_delta)
			print_member(p, p->server->idle_delta, "null");
	} else {
		print_key(p, rng_one_in(&p->rng, 3) ? "reasoning" : "content");
		gen_string(&p->rng, p->out);
	}
	print_close(p, any);
}

static void print_choice_member(struct printer *p, enum event event,
				size_t which)
{
	const struct server *s = p->server;
	bool agents = !p->rewrite->added_logprobs;
	bool bears = event != EVENT_ROLE;

	switch (which) {
	case 0:
		/* Now and then twice, as no server should. */
		print_asked(p, "logprobs", agents, s->logprobs_null, bears);
		if (rng_one_in(&p->rng, 8))
			print_asked(p, "logprobs", agents, s->logprobs_null,
				    bears);
		break;
	case 1:
		print_asked(p, s->choice_ids, false, s->ids_null, bears);
		break;
	case 2:
		print_delta(p, event);
		break;
	case 3:
		print_member(p, "finish_reason",
			     event >= EVENT_FINISH ? "\"stop\"" : "null");
		break;
	default:
		if (s->choice_sign)
			print_member(p, s->choice_sign, "null");
		break;
	}
}

static void print_choice(struct printer *p, enum event event, unsigned index)
{
	size_t order[] = { 0, 1, 2, 3, 4 };
	bool any = print_open(p);
	char text[8];

	snprintf(text, sizeof(text), "%u", index);
	print_member(p, "index", text);
	rng_shuffle(&p->rng, order, ARRAY_LEN(order));
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		print_choice_member(p, event, order[i]);
	print_close(p, any);
}

static void print_choices(struct printer *p, enum event event, unsigned index)
{
	print_key(p, "choices");
	put(p->out, SPAN("["));
	print_choice(p, event, index);
	if (event == EVENT_MESSAGE && p->choices > 1) {
		put(p->out, SPAN(", "));
		print_choice(p, event, 1);
	}
	put(p->out, SPAN("]"));
}

/* The usage event has it when the proxy made the server send one. */
static void print_moved(struct printer *p, bool in_usage_event)
{
	if (p->server->moved &&
	    in_usage_event == (p->asked || !p->rewrite->added_usage))
		print_member(p, p->server->moved, "{\"a\":[1]}");
}

/* What else the outermost object has, but choices and usage. */
static void print_root(struct printer *p, enum event event)
{
	const struct server *s = p->server;

	print_asked(p, s->root_ids, false, s->ids_null,
		    event == EVENT_ROLE || event == EVENT_MESSAGE);
	if (s->usage_null && event < EVENT_FINISH &&
	    (p->asked || !p->rewrite->added_usage))
		print_member(p, "usage", "null");
	if (s->sign)
		print_member(p, s->sign, "null");
	if (rng_one_in(&p->rng, 3)) {
		print_key(p, "other");
		print_value(p, &p->rng);
	}
}

static void print_answer(struct printer *p, enum event event, unsigned index)
{
	bool any = print_open(p);

	if (!p->server->choices_first)
		print_member(p, "id", "1");
	if (event == EVENT_MESSAGE) {
		print_choices(p, event, index);
		print_root(p, event);
		print_member(p, "usage", "{\"total_tokens\":1}");
		print_close(p, any);
		return;
	}
	print_choices(p, event, index);
	if (event == EVENT_FINISH && p->server->moved_after_choices)
		print_moved(p, false);
	print_root(p, event);
	if (event == EVENT_FINISH && !p->server->moved_after_choices)
		print_moved(p, false);
	print_close(p, any);
}

/* The data's line and what is beside it. */
static void begin_event(struct printer *p)
{
	static const char *const beside[] = {
		"", "", "", "id: 7", ": x", "event: message"
	};
	const char *line = RNG_PICK(&p->rng, beside);

	if (*line)
		putf(p->out, "%s%s", line, p->line_end);
	put(p->out, rng_one_in(&p->rng, 4) ? SPAN("data:") : SPAN("data: "));
}

static void end_event(struct printer *p)
{
	putf(p->out, "%s%s", p->line_end, p->line_end);
}

static void print_event(struct printer *p, enum event event, unsigned index)
{
	struct printer unasked = *p;
	struct buf nowhere = test_buf();
	bool own = p->rewrite->added_logprobs;

	/* Unasked there is no such event; what follows it stays the same. */
	if (event == EVENT_TOKENS && own && !p->asked)
		unasked.out = &nowhere;
	begin_event(&unasked);
	print_answer(&unasked, event, index);
	end_event(&unasked);
	unasked.out = p->out;
	*p = unasked;
	buf_release(&nowhere);
}

static void print_usage_event(struct printer *p)
{
	bool any;

	if (p->rewrite->added_usage && !p->asked)
		return;
	put(p->out, SPAN("data: "));
	any = print_open(p);
	if (!p->server->choices_first)
		print_member(p, "id", "1");
	print_member(p, "choices", "[]");
	print_member(p, "usage", "{\"completion_tokens\":1}");
	print_moved(p, true);
	print_close(p, any);
	end_event(p);
}

static void print_sglext(struct printer *p)
{
	if (p->rewrite->added_sglext && p->asked)
		putf(p->out,
		     "data: {\"id\":1,\"choices\":[],\"sglext\":{\"input_ids\":"
		     "[1],\"output_ids\":[[2]]}}%s%s",
		     p->line_end, p->line_end);
}

static void print_stream(struct printer *p)
{
	for (unsigned i = 0; i < p->choices; i++)
		print_event(p, EVENT_ROLE, i);
	for (size_t n = rng_below(&p->rng, 8); n; n--) {
		bool tokens = p->server->idle_delta && rng_one_in(&p->rng, 4);

		print_event(p, tokens ? EVENT_TOKENS : EVENT_TEXT,
			    (unsigned)rng_below(&p->rng, p->choices));
		if (rng_one_in(&p->rng, 8))
			putf(p->out, ": ping%s%s", p->line_end, p->line_end);
	}
	for (unsigned i = 0; i < p->choices; i++)
		print_event(p, EVENT_FINISH, i);
	print_usage_event(p);
	print_sglext(p);
	putf(p->out, "data: [DONE]%s%s", p->line_end, p->line_end);
}

static struct printer printer_for(const struct made_answer *answer,
				  uint64_t seed, bool asked, struct buf *out)
{
	struct rng rng = rng_seeded(seed);
	const struct server *server = &servers[seed % ARRAY_LEN(servers)];
	/* Who moves members prints without white space. */
	size_t style = server->moved ? 0 : rng_below(&rng, ARRAY_LEN(styles));

	return (struct printer){
		.seed = seed,
		.server = server,
		.style = &styles[style],
		.rewrite = &answer->rewrite,
		.line_end = RNG_PICK(&rng, line_ends),
		.choices = 1 + (unsigned)rng_below(&rng, 2),
		.rng = rng,
		.extra = rng_seeded(~seed),
		.asked = asked,
		.out = out,
	};
}

static void answer_begin(struct made_answer *answer, uint64_t seed)
{
	struct rng rng = rng_seeded(seed ^ 0x5555);

	*answer = (struct made_answer){
		.rewrite = {
			.stream = true,
			.added_logprobs = !rng_one_in(&rng, 4),
			.added_token_ids = true,
			.added_usage = !rng_one_in(&rng, 3),
			.added_sglext =
				servers[seed % ARRAY_LEN(servers)].sglext,
		},
	};
	answer->asked = test_buf();
	answer->plain = test_buf();
}

void made_stream(struct made_answer *answer, uint64_t seed)
{
	struct printer p;

	answer_begin(answer, seed);
	p = printer_for(answer, seed, true, &answer->asked);
	print_stream(&p);
	p = printer_for(answer, seed, false, &answer->plain);
	print_stream(&p);
}

void made_whole(struct made_answer *answer, uint64_t seed)
{
	struct printer p;

	/* One body does not tell what an unknown server prints unasked. */
	if (seed % ARRAY_LEN(servers) == UNKNOWN_WITH_NULL)
		seed++;
	answer_begin(answer, seed);
	answer->rewrite.stream = answer->rewrite.added_usage = false;
	p = printer_for(answer, seed, true, &answer->asked);
	print_answer(&p, EVENT_MESSAGE, 0);
	p = printer_for(answer, seed, false, &answer->plain);
	print_answer(&p, EVENT_MESSAGE, 0);
}

void made_release(struct made_answer *answer)
{
	buf_release(&answer->asked);
	buf_release(&answer->plain);
}
