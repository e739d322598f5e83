/* Which server is it? */
#include "proxy/dialect.h"

#include <string.h>

#include "tests/unit/vectors.h"

static void check_dialect(const char *answer, const char *expected)
{
	struct guarded g = guard(span_of(answer));
	const struct dialect *dialect = dialect_of_answer(g.text);

	if (strcmp(dialect->name, expected) != 0)
		fail_msg("%s: %s", answer, dialect->name);
	guard_free(&g);
}

static void test_dialect__signs_of_the_outermost_object(void **state UNUSED)
{
	check_dialect("{\"id\":1,\"kv_transfer_params\":null}", "vllm");
	check_dialect("{\"id\":1,\"prompt_token_ids\":[1]}", "vllm");
	check_dialect("{\"id\":1,\"prompt_logprobs\":null}", "vllm");
	check_dialect("{\"id\":1,\"service_tier\":\"default\"}", "openai");
	check_dialect("{\"id\":1,\"obfuscation\":\"x\"}", "openai");
	check_dialect("{\"id\":1,\"timings\":{}}", "llamacpp");
	check_dialect("{\"choices\":[],\"id\":1}", "llamacpp");
	check_dialect("{\"id\":1,\"serv\\u0069ce_tier\":null}", "openai");
}

static void test_dialect__signs_of_a_choice_come_first(void **state UNUSED)
{
	check_dialect("{\"id\":1,\"choices\":[{\"matched_stop\":null}]}",
		      "sglang");
	check_dialect("{\"id\":1,\"choices\":[{\"token_ids\":null}]}", "vllm");
	check_dialect("{\"choices\":[{\"token_ids\":[]}]}", "vllm");
	check_dialect("{\"choices\":[{\"matched_stop\":1,\"token_ids\":[1]}],"
		      "\"service_tier\":1}",
		      "sglang");
	check_dialect("{\"id\":1,\"choices\":[{},{\"token_ids\":[1]}]}",
		      "vllm");
	check_dialect("{\"id\":1,\"choices\":[1,{\"matched_stop\":1}]}",
		      "sglang");
}

static void test_dialect__without_a_sign_it_is_plain(void **state UNUSED)
{
	check_dialect("{}", "plain");
	check_dialect("{\"id\":1,\"choices\":[{\"index\":0}]}", "plain");
	check_dialect("{\"id\":1,\"choices\":{\"token_ids\":1}}", "plain");
	check_dialect("{\"id\":{\"timings\":1}}", "plain");
	check_dialect("{\"id\":\"timings\"}", "plain");
}

static void test_dialect__what_is_malformed_is_plain(void **state UNUSED)
{
	check_dialect("", "plain");
	check_dialect("[DONE]", "plain");
	check_dialect("null", "plain");
	check_dialect("{\"timings\":1", "plain");
	check_dialect("{\"timings\":1}}", "plain");
	check_dialect("{\"choices\":[{\"token_ids\":1}", "plain");
	check_dialect("{\"choices\":[{\"token_ids\":1},]}", "plain");
}

struct told {
	const char *server;
	unsigned times;
};

/* One event's data tells the server, or nothing. */
static void check_told(struct span data, void *arg)
{
	struct told *told = arg;
	const char *name = dialect_of_answer(data)->name;

	if (!strcmp(name, told->server))
		told->times++;
	else if (strcmp(name, "plain") != 0)
		fail_msg("%s instead of %s: %.*s", name, told->server,
			 (int)data.len, data.data);
}

static void check_asked(const char *path, void *arg)
{
	struct told *told = arg;
	struct buf file;

	load(path, &file);
	told->times = 0;
	if (strstr(path, ".sse"))
		each_data(buf_span(&file), check_told, told);
	else
		check_told(buf_span(&file), told);
	if (!told->times)
		fail_msg("not told: %s", path);
	buf_release(&file);
}

static void check_server(const char *folder)
{
	struct told told = { .server = strrchr(folder, '/') + 1 };

	assert_true(each_file(folder, ".asked.", check_asked, &told) > 0);
}

static void test_dialect__every_answer_tells_its_server(void **state UNUSED)
{
	check_server("tests/data/wire/vllm");
	check_server("tests/data/wire/sglang");
	check_server("tests/data/wire/llamacpp");
	check_server("tests/data/wire/openai");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dialect__signs_of_the_outermost_object),
		cmocka_unit_test(test_dialect__signs_of_a_choice_come_first),
		cmocka_unit_test(test_dialect__without_a_sign_it_is_plain),
		cmocka_unit_test(test_dialect__what_is_malformed_is_plain),
		cmocka_unit_test(test_dialect__every_answer_tells_its_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
