/*
 * Answers as the servers print them: what the agent gets through the proxy must
 * be, byte for byte, what it would have got without it.
 */
#include "proxy/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/limits.h"
#include "shared/mem.h"
#include "tests/unit/generate.h"
#include "tests/unit/generate_answer.h"
#include "tests/unit/vectors.h"

#define WIRE "tests/data/wire"

/* A pair of answers: with the proxy's members asked for, and without. */
struct pair {
	const char *path; /* of the asked one */
	struct buf asked, plain;
};

static void pair_load(struct pair *pair, const char *path)
{
	const char *dot = strstr(path, ".asked.");
	char plain[256];

	assert_non_null(dot);
	snprintf(plain, sizeof(plain), "%.*s.plain.%s", (int)(dot - path), path,
		 dot + strlen(".asked."));
	pair->path = path;
	load(path, &pair->asked);
	load(plain, &pair->plain);
}

static void pair_release(struct pair *pair)
{
	buf_release(&pair->asked);
	buf_release(&pair->plain);
}

/* Who asked for what, as a pair's name and its plain answer tell. */
static struct rewrite asked_for(const struct pair *pair)
{
	return (struct rewrite){
		.added_logprobs = !strstr(pair->path, "agent_logprobs"),
		.added_token_ids = true,
		.added_usage =
			!span_contains(buf_span(&pair->plain), "\"usage\":{"),
		.added_sglext =
			span_contains(buf_span(&pair->asked), "\"sglext\""),
	};
}

struct run {
	struct answer answer;
	struct buf to_agent;
};

static void take_out(struct run *run)
{
	put(&run->to_agent, buf_span(&run->answer.out));
	buf_clear(&run->answer.out);
}

static void feed_answer(struct span piece, void *arg)
{
	struct run *run = arg;
	struct error err;

	assert_true(answer_feed(&run->answer, piece, 1000, &err));
	take_out(run);
}

static void run_stream(struct run *run, const struct rewrite *rewrite,
		       struct span stream, int way)
{
	struct error err;

	answer_init(&run->answer, rewrite, 0);
	run->to_agent = test_buf();
	feed(stream, way, feed_answer, run);
	assert_true(answer_finish(&run->answer, 1000, &err));
	take_out(run);
	put(&run->to_agent, buf_span(&run->answer.held));
}

static void run_release(struct run *run)
{
	answer_release(&run->answer);
	buf_release(&run->to_agent);
}

/* A stream that the server broke off gets an error event of ours. */
static struct span without_error(struct run *run)
{
	struct span all = buf_span(&run->to_agent);
	struct buf copy = test_buf();
	const char *at;

	if (!run->answer.added_error)
		return all;
	at = strstr(all.data, "data: {\"error\":{\"message\":\"The model's");
	assert_non_null(at);
	put(&copy, span_from(all.data, (size_t)(at - all.data)));
	put(&copy, span_of(strstr(at, "\n\n") + 2));
	buf_release(&run->to_agent);
	run->to_agent = copy;
	return buf_span(&run->to_agent);
}

static void check_stream(const struct pair *pair)
{
	struct rewrite rewrite = asked_for(pair);

	for (int way = 0; way < FEED_WAYS; way++) {
		struct run run;

		run_stream(&run, &rewrite, buf_span(&pair->asked), way);
		check_bytes(pair->path, without_error(&run),
			    buf_span(&pair->plain));
		run_release(&run);
	}
}

static void check_whole(const struct pair *pair)
{
	struct rewrite rewrite = asked_for(pair);
	struct answer answer;
	struct guarded body = guard(buf_span(&pair->asked));
	struct error err;

	answer_init(&answer, &rewrite, 0);
	assert_true(answer_whole(&answer, body.text, &err));
	check_bytes(pair->path, buf_span(&answer.held), buf_span(&pair->plain));
	answer_release(&answer);
	guard_free(&body);
}

/*
 * In parallel_off_empty vLLM sends an empty event unasked that looks exactly
 * like those it sends for token ids only.
 */
static bool is_exempt(const struct pair *pair)
{
	return strstr(pair->path, "/parallel_off_empty.");
}

static void check_pair(const char *path, void *arg)
{
	unsigned *checked = arg;
	struct pair pair;

	pair_load(&pair, path);
	if (!is_exempt(&pair)) {
		if (strstr(path, ".sse"))
			check_stream(&pair);
		else
			check_whole(&pair);
		(*checked)++;
	}
	pair_release(&pair);
}

static void check_server(const char *folder)
{
	unsigned checked = 0;

	each_file(folder, ".asked.", check_pair, &checked);
	assert_true(checked >= 5);
}

static void test_answer__vllm(void **state UNUSED)
{
	check_server(WIRE "/vllm");
}

static void test_answer__sglang(void **state UNUSED)
{
	check_server(WIRE "/sglang");
}

static void test_answer__llamacpp(void **state UNUSED)
{
	check_server(WIRE "/llamacpp");
}

static void test_answer__openai(void **state UNUSED)
{
	check_server(WIRE "/openai");
}

/* --- Streams of our own. ------------------------------------------------ */

static const struct rewrite everything = { .added_logprobs = true,
					   .added_token_ids = true,
					   .added_usage = true };
static const struct rewrite nothing = { .stream = true };

/* However the stream is split, the agent gets this. */
static void check_passed(const struct rewrite *rewrite, const char *stream,
			 const char *expected)
{
	for (int way = 0; way < FEED_WAYS; way++) {
		struct run run;

		run_stream(&run, rewrite, span_of(stream), way);
		check_text(buf_span(&run.to_agent), expected);
		run_release(&run);
	}
}

#define FINISH "data: {\"id\":1,\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n"
#define DONE   "data: [DONE]\n\n"
#define UNFINISHED                                                   \
	"data: {\"error\":{\"message\":\"The model's answer has no " \
	"finish reason.\",\"type\":\"invalid_request_error\","       \
	"\"param\":null,\"code\":null}}\n\n"

static void test_answer__everything_else_passes(void **state UNUSED)
{
	static const char stream[] =
		"\xEF\xBB\xBF: hello\r\n\r\nevent: x\rid: 1\r\rdata: no "
		"json\n\n"
		"data: {\"a\":\ndata: 1}\n\n\n\n" FINISH ": bye\n\n" DONE;

	check_passed(&nothing, stream, stream);
	check_passed(&everything, stream, stream);
}

static void test_answer__the_end_is_held(void **state UNUSED)
{
	struct span stream = SPAN(FINISH DONE);

	for (int way = 0; way < FEED_WAYS; way++) {
		struct run run;

		run_stream(&run, &everything, stream, way);
		assert_true(run.answer.holding);
		assert_true(run.answer.finish_passed);
		check_text(buf_span(&run.answer.held), DONE);
		run_release(&run);
	}
}

static void test_answer__what_follows_the_end_is_dropped(void **state UNUSED)
{
	static const char *const behind[] = {
		"data: more\n\n", "\n", ": bye", "data: [DONE]\n\n", "\r\n",
	};
	static const char *const ends[] = {
		DONE,
		"data: [DONE]\r\n\r\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		for (size_t j = 0; j < ARRAY_LEN(behind); j++) {
			struct buf stream = test_buf(), expected = test_buf();

			putf(&expected, FINISH "%s", ends[i]);
			putf(&stream, FINISH "%s%s", ends[i], behind[j]);
			check_passed(&nothing, stream.data, expected.data);
			buf_release(&stream);
			buf_release(&expected);
		}
}

static void test_answer__an_unfinished_stream_ends_in_an_error(
	void **state UNUSED)
{
	check_passed(&nothing, "", UNFINISHED);
	check_passed(&nothing, DONE, UNFINISHED DONE);
	check_passed(&nothing, "data: {\"choices\":[]}\n\n" DONE,
		     "data: {\"choices\":[]}\n\n" UNFINISHED DONE);
	check_passed(
		&nothing, "data: {\"choices\":[{\"finish_reason\":null}]}",
		"data: {\"choices\":[{\"finish_reason\":null}]}" UNFINISHED);
}

static void test_answer__an_error_of_the_upstreams_is_enough(
	void **state UNUSED)
{
	check_passed(&nothing, "data: {\"error\":{}}\n\n" DONE,
		     "data: {\"error\":{}}\n\n" DONE);
}

static void test_answer__a_last_event_without_blank_line(void **state UNUSED)
{
	check_passed(&nothing, FINISH "data: x", FINISH "data: x");
	check_passed(&nothing,
		     "data: {\"choices\":[{\"finish_reason\":"
		     "\"stop\"}]}",
		     "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}");
}

static void test_answer__data_of_several_lines_is_edited(void **state UNUSED)
{
	check_passed(
		&everything,
		"event: x\ndata: {\"id\":1,\ndata: \"choices\":[{\"delta\":"
		"{\"content\":\"a\"},\ndata: \"token_ids\":[1]}],\n"
		"data: \"kv_transfer_params\":1}\n\n" FINISH DONE,
		"event: x\ndata: {\"id\":1,\ndata: \"choices\":[{\"delta\":"
		"{\"content\":\"a\"},\ndata: \"token_ids\":null}],\n"
		"data: \"kv_transfer_params\":1}\n\n" FINISH DONE);
}

/* What is beside the data stays, as do the ends of the lines. */
static void test_answer__other_lines_of_an_edited_event_stay(
	void **state UNUSED)
{
	check_passed(
		&everything,
		"\xEF\xBB\xBF: a\r\nid: 7\r\ndata:{\"id\":1,\r\nretry: 5\r\n"
		"data: \"choices\":[{\"delta\":{\"content\":\"a\"},\r\n"
		"data:  \"token_ids\":[1]}],\r\n: b\r\n"
		"data: \"kv_transfer_params\":1}\r\nevent: x\r\n\r\n" FINISH
			DONE,
		"\xEF\xBB\xBF: a\r\nid: 7\r\ndata:{\"id\":1,\r\nretry: 5\r\n"
		"data: \"choices\":[{\"delta\":{\"content\":\"a\"},\r\n"
		"data:  \"token_ids\":null}],\r\n: b\r\n"
		"data: \"kv_transfer_params\":1}\r\nevent: x\r\n\r\n" FINISH
			DONE);
	check_passed(&everything,
		     ": a\nid: 7\ndata: {\"choices\":[{\"delta\":{\"content\":"
		     "\"a\"},\"logprobs\":{}}]}\nevent: x\n\n" FINISH DONE,
		     ": a\nid: 7\ndata: {\"choices\":[{\"delta\":{\"content\":"
		     "\"a\"}}]}\nevent: x\n\n" FINISH DONE);
}

/* Lines that nothing is left of go, and those that a cut joins become one. */
static void test_answer__lines_that_are_cut_go(void **state UNUSED)
{
	check_passed(
		&everything,
		"data: {\ndata:   \"choices\": [{\n"
		"data:     \"delta\": {\"content\": \"a\"},\n"
		"data:     \"logprobs\": {\ndata:       \"content\": []\n"
		"data:     },\ndata:     \"index\": 0,\n"
		"data:     \"logprobs\": {}\ndata:   }]\ndata: }\n\n" FINISH
			DONE,
		"data: {\ndata:   \"choices\": [{\n"
		"data:     \"delta\": {\"content\": \"a\"},\n"
		"data:     \"index\": 0\n"
		"data:   }]\ndata: }\n\n" FINISH DONE);
	/* With something between them they stay, one of them empty. */
	check_passed(
		&everything,
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\n"
		"id: 1\ndata: \"logprobs\":{}\n: b\ndata: }]}\n\n" FINISH DONE,
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}\n"
		"id: 1\ndata: \n: b\ndata: }]}\n\n" FINISH DONE);
}

/* May a line end behind this byte of JSON?  `in_string` goes along. */
static bool is_between_tokens(struct span json, size_t at, bool *in_string)
{
	char c = json.data[at];

	if (*in_string) {
		size_t escapes = 0;

		while (json.data[at - 1 - escapes] == '\\')
			escapes++;
		*in_string = c != '"' || escapes % 2;
		return false;
	}
	*in_string = c == '"';
	return at + 1 < json.len && strchr(",:[{]}", c);
}

struct breaker {
	struct rng rng;
	struct buf out;
};

/* An event's data as several lines, with others before and between them. */
static void break_data(struct span data, void *arg)
{
	struct breaker *b = arg;
	const char *line_end = rng_one_in(&b->rng, 3) ? "\r\n" : "\n";
	bool in_string = false;

	putf(&b->out, "%sdata: ", rng_one_in(&b->rng, 4) ? "id: 1\n" : "");
	for (size_t i = 0; i < data.len; i++) {
		bool may = is_between_tokens(data, i, &in_string);

		put(&b->out, span_from(data.data + i, 1));
		if (!may || !rng_one_in(&b->rng, 5) || data.data[0] != '{')
			continue;
		put(&b->out, span_of(line_end));
		if (rng_one_in(&b->rng, 4))
			putf(&b->out, ": x%s", line_end);
		put(&b->out, SPAN("data: "));
	}
	putf(&b->out, "%s%s", line_end, line_end);
}

/* Without the line breaks, which stand between tokens. */
static void join_data(struct span data, void *arg)
{
	for (size_t i = 0; i < data.len; i++)
		if (data.data[i] != '\n')
			put(arg, span_from(data.data + i, 1));
	put(arg, SPAN("\n"));
}

/* With its events' data in lines the agent gets the same data. */
static void check_in_lines(const struct rewrite *rewrite, struct span asked,
			   struct span plain, uint64_t seed)
{
	struct breaker b = { rng_seeded(seed), test_buf() };
	struct buf expected = test_buf(), got = test_buf();
	struct run run;

	each_data(plain, join_data, &expected);
	each_data(asked, break_data, &b);
	run_stream(&run, rewrite, buf_span(&b.out), (int)seed % 3);
	each_data(without_error(&run), join_data, &got);
	check_bytes(b.out.data, buf_span(&got), buf_span(&expected));
	run_release(&run);
	buf_release(&b.out);
	buf_release(&expected);
	buf_release(&got);
}

static void check_broken(const char *path, void *arg UNUSED)
{
	struct rewrite rewrite;
	struct pair pair;

	pair_load(&pair, path);
	rewrite = asked_for(&pair);
	for (uint64_t seed = 0; seed < 20 && !is_exempt(&pair); seed++)
		check_in_lines(&rewrite, buf_span(&pair.asked),
			       buf_span(&pair.plain), seed);
	pair_release(&pair);
}

static void test_answer__data_in_lines_is_edited_like_any(void **state UNUSED)
{
	assert_true(each_file(WIRE "/vllm", ".asked.sse", check_broken, NULL));
	assert_true(
		each_file(WIRE "/sglang", ".asked.sse", check_broken, NULL));
	assert_true(
		each_file(WIRE "/llamacpp", ".asked.sse", check_broken, NULL));
	assert_true(
		each_file(WIRE "/openai", ".asked.sse", check_broken, NULL));
}

static void test_answer__last_lines_without_blank_line_are_edited(
	void **state UNUSED)
{
	check_passed(&everything,
		     FINISH
		     "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},"
		     "\ndata: \"logprobs\":{}}]}",
		     FINISH "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}"
			    "}]}");
}

#define USAGE_EVENT                                    \
	"data: {\"id\":1,\"choices\":[],\"usage\":{}," \
	"\"system_fingerprint\":\"fp\",\"kv_transfer_params\":null}\n\n"

static void test_answer__a_moved_member_goes_back(void **state UNUSED)
{
	check_passed(
		&everything,
		"data: {\"id\":1,\"choices\":[{\"finish_reason\":\"stop\","
		"\"token_ids\":[1]}],\"prompt_token_ids\":[1,2,3,4,5,6]}\n\n"
		": ping\n\n" USAGE_EVENT DONE,
		"data: {\"id\":1,\"choices\":[{\"finish_reason\":\"stop\","
		"\"token_ids\":null}],\"system_fingerprint\":\"fp\","
		"\"prompt_token_ids\":null}\n\n: ping\n\n" DONE);
}

static void test_answer__a_moved_member_goes_back_into_lines(
	void **state UNUSED)
{
	check_passed(
		&everything,
		"id: 1\ndata: {\"id\":1,\"choices\":[{\"finish_reason\":\n"
		"data: \"stop\",\"token_ids\":[1]}],\n: b\n"
		"data: \"prompt_token_ids\":[1,\ndata: 2]}\n"
		"event: x\n\n" USAGE_EVENT DONE,
		"id: 1\ndata: {\"id\":1,\"choices\":[{\"finish_reason\":\n"
		"data: \"stop\",\"token_ids\":null}],\"system_fingerprint\":"
		"\"fp\",\n: b\ndata: \"prompt_token_ids\":null}\n"
		"event: x\n\n" DONE);
}

static void test_answer__who_waits_for_a_member_leaves_without(
	void **state UNUSED)
{
	static const char finish[] =
		"data: {\"id\":1,\"choices\":[{\"finish_reason\":\"stop\","
		"\"token_ids\":null}]}\n\n";
	struct buf stream = test_buf();

	check_passed(&everything, finish, finish);
	putf(&stream, "%s: ping\n\n" DONE, finish);
	check_passed(&everything, stream.data, stream.data);
	buf_release(&stream);
}

static void test_answer__an_event_without_end_is_an_error(void **state UNUSED)
{
	char *megabyte = xmalloc(1u << 20);
	struct error err = ERROR_INIT;
	struct answer answer;
	bool ok = true;
	int fed = 0;

	memset(megabyte, 'x', 1u << 20);
	answer_init(&answer, &nothing, 0);
	for (; ok && fed < 20; fed++)
		ok = answer_feed(&answer, span_from(megabyte, 1u << 20), 0,
				 &err);
	assert_int_equal(fed, LIMIT_SSE_EVENT >> 20);
	check_error(&err, ERROR_TOO_LARGE, "event");
	answer_release(&answer);
	free(megabyte);
}

static void test_answer__too_many_choices_are_an_error(void **state UNUSED)
{
	struct error err = ERROR_INIT;
	struct buf stream = test_buf();
	struct answer answer;

	for (int i = 0; i <= LIMIT_TURN_CHOICES; i++)
		putf(&stream, "data: {\"choices\":[{\"index\":%d}]}\n\n", i);
	answer_init(&answer, &nothing, 0);
	assert_false(answer_feed(&answer, buf_span(&stream), 0, &err));
	check_error(&err, ERROR_TOO_LARGE, "choices");
	answer_release(&answer);
	buf_release(&stream);
}

/* Events of any kind, after one that lets the stream be finished. */
static void gen_stream(struct rng *rng, struct buf *out)
{
	static const char *const pieces[] = {
		"data: ", "data:", ": x",  "event: e", "{\"choices\":[{}]}",
		"\n",     "\r",    "\r\n", "\n\n",     "\r\n\r\n",
		"[DONE",  "x",
	};

	put(out, SPAN(FINISH));
	for (size_t n = rng_below(rng, 30); n; n--) {
		put(out, span_of(RNG_PICK(rng, pieces)));
		if (rng_one_in(rng, 4))
			gen_value(rng, out, 2);
	}
	put(out, SPAN("x"));
}

static void test_answer__what_was_not_asked_for_is_not_looked_for(
	void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 300; seed++) {
		struct rng rng = rng_seeded(seed);
		struct buf stream = test_buf();

		gen_stream(&rng, &stream);
		check_passed(&nothing, stream.data, stream.data);
		buf_release(&stream);
	}
}

/* The LF of an event's last CRLF may come later, even as the last byte. */
static void test_answer__line_feeds_go_with_their_event(void **state UNUSED)
{
	static const char finish[] =
		"data: {\"id\":1,\"choices\":[{\"finish_reason\":\"stop\"}]}"
		"\r\n\r\n";
	struct buf stream = test_buf(), expected = test_buf();

	putf(&expected, "%s: ping\r\n\r\n%s", finish, finish);
	putf(&stream,
	     "%s: ping\r\n\r\ndata: {\"id\":1,\"choices\":[],\"usage\":{}}"
	     "\r\n\r\n%s",
	     finish, finish);
	check_passed(&everything, stream.data, expected.data);
	putf(&stream, "\r\n%s", "data: [DONE]\r\n\r\n");
	putf(&expected, "\r\n%s", "data: [DONE]\r\n\r\n");
	check_passed(&everything, stream.data, expected.data);
	buf_clear(&stream);
	putf(&stream, "%s \n", finish);
	check_passed(&everything, stream.data, finish);
	buf_release(&stream);
	buf_release(&expected);
}

/* Whatever a server prints, and however it comes. */
static void test_answer__made_streams(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 3000; seed++) {
		struct made_answer made;
		struct run run;
		int way = (int)(seed / 6 % FEED_WAYS);

		made_stream(&made, seed);
		run_stream(&run, &made.rewrite, buf_span(&made.asked), way);
		if (!span_equals(buf_span(&run.to_agent),
				 buf_span(&made.plain)))
			print_message("seed %d: %s\n", (int)seed,
				      made.asked.data);
		check_bytes("stream", buf_span(&run.to_agent),
			    buf_span(&made.plain));
		run_release(&run);
		check_in_lines(&made.rewrite, buf_span(&made.asked),
			       buf_span(&made.plain), seed);
		made_release(&made);
	}
}

static void test_answer__made_bodies(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 3000; seed++) {
		struct made_answer made;
		struct answer answer;
		struct error err;

		made_whole(&made, seed);
		answer_init(&answer, &made.rewrite, 0);
		assert_true(answer_whole(&answer, buf_span(&made.asked), &err));
		check_bytes(made.asked.data, buf_span(&answer.held),
			    buf_span(&made.plain));
		answer_release(&answer);
		made_release(&made);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answer__vllm),
		cmocka_unit_test(test_answer__sglang),
		cmocka_unit_test(test_answer__llamacpp),
		cmocka_unit_test(test_answer__openai),
		cmocka_unit_test(test_answer__everything_else_passes),
		cmocka_unit_test(test_answer__the_end_is_held),
		cmocka_unit_test(test_answer__what_follows_the_end_is_dropped),
		cmocka_unit_test(
			test_answer__an_unfinished_stream_ends_in_an_error),
		cmocka_unit_test(
			test_answer__an_error_of_the_upstreams_is_enough),
		cmocka_unit_test(test_answer__a_last_event_without_blank_line),
		cmocka_unit_test(test_answer__data_of_several_lines_is_edited),
		cmocka_unit_test(
			test_answer__other_lines_of_an_edited_event_stay),
		cmocka_unit_test(test_answer__lines_that_are_cut_go),
		cmocka_unit_test(test_answer__data_in_lines_is_edited_like_any),
		cmocka_unit_test(
			test_answer__last_lines_without_blank_line_are_edited),
		cmocka_unit_test(test_answer__a_moved_member_goes_back),
		cmocka_unit_test(
			test_answer__a_moved_member_goes_back_into_lines),
		cmocka_unit_test(
			test_answer__who_waits_for_a_member_leaves_without),
		cmocka_unit_test(test_answer__an_event_without_end_is_an_error),
		cmocka_unit_test(test_answer__too_many_choices_are_an_error),
		cmocka_unit_test(
			test_answer__what_was_not_asked_for_is_not_looked_for),
		cmocka_unit_test(test_answer__line_feeds_go_with_their_event),
		cmocka_unit_test(test_answer__made_streams),
		cmocka_unit_test(test_answer__made_bodies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
