/* What the proxy says in its own words. */
#include "proxy/reply.h"

#include <ctype.h>
#include <string.h>

#include "shared/json_scan.h"
#include "shared/json_text.h"
#include "tests/unit/vectors.h"

/* Texts by which opencode takes an error for one that passes. */
static const char *const retried[] = {
	"rate",       "limit",       "overload",  "timeout",
	"timed out",  "unavailable", "exhausted", "try again",
	"too many",   "capacity",    "busy",      "server_error",
	"terminated", "socket",      "reset",     "temporar",
};

static void check_no_retry(const char *text, size_t len)
{
	char lower[512];

	assert_true(len < sizeof(lower));
	for (size_t i = 0; i < len; i++) {
		lower[i] = (char)tolower((unsigned char)text[i]);
		assert_false(isdigit((unsigned char)text[i]));
	}
	lower[len] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(retried); i++)
		if (strstr(lower, retried[i]))
			fail_msg("'%s' in %s", retried[i], lower);
}

/* {"error":{"message":...,"type":...,"param":null,"code":null}} */
static void check_object(struct span body)
{
	static const char *const names[] = { "message", "type", "param",
					     "code" };
	struct json_value error, v[ARRAY_LEN(names)];

	assert_true(json_valid(body));
	assert_true(json_find(body, "error", &error));
	assert_true(json_pick(error.text, names, v, ARRAY_LEN(names)));
	assert_int_equal(v[0].type, JSON_STRING);
	assert_int_equal(v[1].type, JSON_STRING);
	assert_int_equal(v[2].type, JSON_NULL);
	assert_int_equal(v[3].type, JSON_NULL);
	check_no_retry(v[0].text.data, v[0].text.len);
	check_no_retry(v[1].text.data, v[1].text.len);
}

static void check_reply(enum reply_error which, unsigned status)
{
	struct buf body = test_buf(), event = test_buf(), expected = test_buf();
	struct error err;

	assert_int_equal(reply_error_status(which), status);
	assert_true(reply_error_body(which, &body, &err));
	check_object(buf_span(&body));
	assert_true(reply_error_event(which, &event, &err));
	putf(&expected, "data: %s\n\n", body.data);
	check_bytes("event", buf_span(&event), buf_span(&expected));
	buf_release(&body);
	buf_release(&event);
	buf_release(&expected);
}

static void test_reply__errors_are_objects_nobody_retries(void **state UNUSED)
{
	check_reply(REPLY_BAD_REQUEST, 400);
	check_reply(REPLY_UNAUTHORIZED, 401);
	check_reply(REPLY_NOT_FOUND, 404);
	check_reply(REPLY_UNREACHABLE, 502);
	check_reply(REPLY_BAD_ANSWER, 502);
	check_reply(REPLY_UPSTREAM_SILENT, 504);
	check_reply(REPLY_UNFINISHED, 200);
	check_reply(REPLY_NOT_A_STREAM, 200);
}

static void test_reply__errors_obey_the_limit(void **state UNUSED)
{
	struct error err = ERROR_INIT;
	struct buf out;

	buf_init(&out, 20);
	assert_false(reply_error_body(REPLY_NOT_FOUND, &out, &err));
	check_error(&err, ERROR_TOO_LARGE, "limit");
	buf_release(&out);
}

static struct json_value member(struct span object, const char *name)
{
	struct json_value value = JSON_VALUE_NONE;

	json_find(object, name, &value);
	return value;
}

/* The first of an answer's choices; false: it has none. */
static bool first_choice(struct span answer, struct span *choice)
{
	struct json_value value;
	struct json_cursor c;

	json_open(&c, member(answer, "choices").text);
	if (!json_enter_array(&c) || !json_next_item(&c) ||
	    !json_read(&c, &value))
		return false;
	*choice = value.text;
	return true;
}

static void test_reply__final_answer_as_a_whole(void **state UNUSED)
{
	struct buf out = test_buf();
	struct span choice;
	struct error err;

	assert_true(reply_final_answer(false, false, &out, &err));
	assert_true(json_valid(buf_span(&out)));
	assert_true(json_string_is(member(buf_span(&out), "object"),
				   "chat.completion"));
	assert_true(json_string_is(member(buf_span(&out), "model"),
				   "octap-synthetic"));
	assert_int_equal(member(buf_span(&out), "usage").type, JSON_OBJECT);
	assert_true(first_choice(buf_span(&out), &choice));
	assert_true(json_string_is(member(choice, "finish_reason"), "stop"));
	assert_int_equal(member(member(choice, "message").text, "content").type,
			 JSON_STRING);
	buf_release(&out);
}

struct chunks {
	unsigned count;
	bool text, finish, usage, done;
};

static void note_chunk(struct span data, void *arg)
{
	struct chunks *seen = arg;
	struct span choice;

	assert_false(seen->done);
	if (span_is(data, "[DONE]")) {
		seen->done = true;
		return;
	}
	assert_true(json_valid(data));
	assert_true(json_string_is(member(data, "object"),
				   "chat.completion.chunk"));
	seen->count++;
	seen->usage |= member(data, "usage").type == JSON_OBJECT;
	if (!first_choice(data, &choice))
		return;
	assert_int_equal(member(choice, "delta").type, JSON_OBJECT);
	seen->text |= member(member(choice, "delta").text, "content").type ==
		      JSON_STRING;
	seen->finish |= json_string_is(member(choice, "finish_reason"), "stop");
}

static void test_reply__final_answer_as_a_stream(void **state UNUSED)
{
	struct chunks seen = { 0 };
	struct buf out = test_buf();
	struct error err;

	assert_true(reply_final_answer(true, true, &out, &err));
	each_data(buf_span(&out), note_chunk, &seen);
	assert_int_equal(seen.count, 3);
	assert_true(seen.text && seen.finish && seen.usage && seen.done);
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reply__errors_are_objects_nobody_retries),
		cmocka_unit_test(test_reply__errors_obey_the_limit),
		cmocka_unit_test(test_reply__final_answer_as_a_whole),
		cmocka_unit_test(test_reply__final_answer_as_a_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
