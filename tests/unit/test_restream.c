/* A whole answer as events. */
#include "proxy/restream.h"

#include <stdlib.h>

#include "shared/mem.h"
#include "tests/unit/vectors.h"

static void check_stream(const char *whole, bool usage, const char *expected)
{
	struct buf out = test_buf();
	struct error err = ERROR_INIT;

	if (!restream(span_of(whole), usage, &out, &err))
		fail_msg("%s", err.text);
	check_text(buf_span(&out), expected);
	buf_release(&out);
}

#define HEAD                                       \
	"data: {\"id\":\"x\",\"object\":"          \
	"\"chat.completion.chunk\",\"created\":1," \
	"\"choices\":["

static void test_restream__text(void **state UNUSED)
{
	const char *whole =
		"{\"id\":\"x\",\"object\":\"chat.completion\",\"created\":1,"
		"\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\","
		"\"content\":\"a\\ud800\"},\"logprobs\":null,"
		"\"finish_reason\":\"stop\"}],\"usage\":{\"total_tokens\":2}}";
	const char *events =
		HEAD "{\"index\":0,\"delta\":{\"role\":\"assistant\","
		     "\"content\":\"a\\ud800\"},\"logprobs\":null,"
		     "\"finish_reason\":null}]}\n\n" HEAD
		     "{\"index\":0,\"delta\":{},\"logprobs\":null,"
		     "\"finish_reason\":\"stop\"}]}\n\n";
	char *with_usage;

	with_usage = xasprintf("%s" HEAD "],\"usage\":{\"total_tokens\":2}}\n\n"
			       "data: [DONE]\n\n",
			       events);
	check_stream(whole, true, with_usage);
	free(with_usage);
	with_usage = xasprintf("%sdata: [DONE]\n\n", events);
	check_stream(whole, false, with_usage);
	free(with_usage);
}

static void test_restream__calls_are_numbered(void **state UNUSED)
{
	check_stream("{\"choices\":[{\"message\":{\"tool_calls\":[{\"id\":"
		     "\"a\",\n\"function\":{}},{\"index\":7,\"id\":\"b\"}]},"
		     "\"finish_reason\":\"tool_calls\"}]}",
		     true,
		     "data: {\"choices\":[{\"index\":0,"
		     "\"delta\":{\"tool_calls\":["
		     "{\"index\":0,\"id\":\"a\",\"function\":{}},"
		     "{\"index\":1,\"id\":\"b\"}]},"
		     "\"finish_reason\":null}]}\n\n"
		     "data: {\"choices\":[{\"index\":0,\"delta\":{},"
		     "\"finish_reason\":\"tool_calls\"}]}\n\n"
		     "data: [DONE]\n\n");
}

/* In a stream one that has none would be the first. */
static void test_restream__choices_are_numbered(void **state UNUSED)
{
	check_stream("{\"choices\":[{\"message\":{}},{\"message\":{}},"
		     "{\"index\":7,\"message\":{}}]}",
		     false,
		     "data: {\"choices\":[{\"index\":0,\"delta\":{}}]}\n\n"
		     "data: {\"choices\":[{\"index\":1,\"delta\":{}}]}\n\n"
		     "data: {\"choices\":[{\"index\":7,\"delta\":{}}]}\n\n"
		     "data: {\"choices\":[{\"index\":0,\"delta\":{}}]}\n\n"
		     "data: {\"choices\":[{\"index\":1,\"delta\":{}}]}\n\n"
		     "data: {\"choices\":[{\"index\":7,\"delta\":{}}]}\n\n"
		     "data: [DONE]\n\n");
}

static void test_restream__no_calls_are_no_member(void **state UNUSED)
{
	check_stream(
		"{\"choices\":[{\"message\":{\"content\":\"\","
		"\"tool_calls\":null},\"finish_reason\":\"stop\"}]}",
		false,
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},"
		"\"finish_reason\":null}]}\n\n"
		"data: {\"choices\":[{\"index\":0,\"delta\":{},"
		"\"finish_reason\":\"stop\"}]}\n\n"
		"data: [DONE]\n\n");
}

static void test_restream__without_a_message_it_is_none(void **state UNUSED)
{
	struct buf out = test_buf();
	struct error err;

	assert_false(restream(SPAN("{\"error\":{}}"), true, &out, &err));
	assert_false(restream(SPAN("{\"choices\":[{}]}"), true, &out, &err));
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_restream__text),
		cmocka_unit_test(test_restream__calls_are_numbered),
		cmocka_unit_test(test_restream__choices_are_numbered),
		cmocka_unit_test(test_restream__no_calls_are_no_member),
		cmocka_unit_test(test_restream__without_a_message_it_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
