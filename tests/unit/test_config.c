/* What octap-proxy is told, and where keys are left behind: nowhere. */
#include "proxy/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/file.h"
#include "shared/log.h"
#include "shared/mem.h"
#include "tests/unit/vectors.h"

#define URL "--upstream-url", "http://h"

static struct folder folder;
static char *key_file;

static int set_up(void **state UNUSED)
{
	temp_folder_make(&folder);
	key_file = folder_file(&folder, "key");
	unsetenv("OPENCODE_UPSTREAM_API_KEY");
	unsetenv("UPSTREAM_API_KEY");
	log_set_level(LOG_ERROR);
	return 0;
}

static int tear_down(void **state UNUSED)
{
	temp_folder_remove(&folder);
	free(key_file);
	log_mask_clear();
	return 0;
}

/* A command line whose words may be written to. */
struct line {
	char *argv[16];
	int argc;
	struct config config;
	struct error err;
};

static enum options_result load_line(struct line *line,
				     const char *const *words)
{
	*line = (struct line){ .argc = 1, .err = ERROR_INIT };
	line->argv[0] = xstrdup("octap-proxy");
	for (; *words; words++)
		line->argv[line->argc++] = xstrdup(*words);
	return config_load(&line->config, line->argc, line->argv, &line->err);
}

static void line_free(struct line *line)
{
	config_release(&line->config);
	for (int i = 0; i < line->argc; i++)
		free(line->argv[i]);
}

static void good_line(struct line *line, const char *const *words)
{
	if (load_line(line, words) != OPTIONS_OK)
		fail_msg("%s", line->err.text);
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void check_refused(const char *const *words, const char *why)
{
	struct line line;

	if (load_line(&line, words) != OPTIONS_BAD)
		fail_msg("accepted: %s", words[0]);
	check_error(&line.err, line.err.kind, why);
	if (strstr(line.err.text, "sk-"))
		fail_msg("tells the key: %s", line.err.text);
	line_free(&line);
}

static void test_config__defaults(void **state UNUSED)
{
	struct line line;

	good_line(&line, WORDS(URL));
	assert_string_equal(line.config.upstream_url, "http://h");
	assert_string_equal(line.config.host, "127.0.0.1");
	assert_string_equal(line.config.upstream_key, "intercepted");
	assert_null(line.config.client_key);
	assert_null(line.config.rollout_id);
	assert_int_equal(line.config.port, 7000);
	assert_int_equal(line.config.request_timeout_ms, 600000);
	assert_int_equal(line.config.max_turns, 0);
	assert_int_equal(line.config.run_as_uid, 0);
	assert_int_equal(line.config.rules.top_logprobs, 5);
	assert_int_equal(line.config.rules.max_tokens_cap, 0);
	assert_null(line.config.rules.dialect);
	assert_int_equal(line.config.rules.token_ids, TOKEN_IDS_AUTO);
	assert_false(line.config.rules.disable_thinking);
	assert_null(line.config.rules.model_override);
	assert_int_equal(line.config.rules.sampling.len, 0);
	line_free(&line);
}

static void test_config__every_option_arrives(void **state UNUSED)
{
	struct line line;

	good_line(&line, WORDS(URL, "--port=0", "--trace=t", "--host=::1",
			       "--request-timeout=0.5", "--rollout-id=r",
			       "--top-logprobs=0", "--max-tokens-cap=9",
			       "--disable-thinking", "--model-override=m",
			       "--max-turns=3", "--run-as=1000:1001"));
	assert_int_equal(line.config.port, 0);
	assert_string_equal(line.config.trace_path, "t");
	assert_string_equal(line.config.host, "::1");
	assert_int_equal(line.config.request_timeout_ms, 500);
	assert_string_equal(line.config.rollout_id, "r");
	assert_int_equal(line.config.rules.top_logprobs, 0);
	assert_int_equal(line.config.rules.max_tokens_cap, 9);
	assert_true(line.config.rules.disable_thinking);
	assert_string_equal(line.config.rules.model_override, "m");
	assert_int_equal(line.config.max_turns, 3);
	assert_int_equal(line.config.run_as_uid, 1000);
	assert_int_equal(line.config.run_as_gid, 1001);
	line_free(&line);
}

static void test_config__sampling_is_kept_as_text(void **state UNUSED)
{
	static const char json[] = "{\"seed\":9007199254740993}";
	struct line line;

	good_line(&line, WORDS(URL, "--sampling", json, "--verbose"));
	check_text(line.config.rules.sampling, json);
	assert_true(line.config.verbose);
	line_free(&line);
}

static void check_token_ids(const char *url, const char *choice,
			    enum token_ids_rule expected)
{
	struct line line;

	good_line(&line, WORDS("--upstream-url", url, "--token-ids", choice));
	if (line.config.rules.token_ids != expected)
		fail_msg("%s %s", url, choice);
	line_free(&line);
}

static void test_config__strict_servers_are_not_asked_for_ids(
	void **state UNUSED)
{
	check_token_ids("http://h", "auto", TOKEN_IDS_AUTO);
	check_token_ids("https://api.openai.com", "auto", TOKEN_IDS_OFF);
	check_token_ids("https://api.openai.com:443/v1", "auto", TOKEN_IDS_OFF);
	check_token_ids("https://API.OpenAI.com/v1", "auto", TOKEN_IDS_OFF);
	check_token_ids("https://router.huggingface.co/v1", "auto",
			TOKEN_IDS_OFF);
	check_token_ids("https://api.openai.com.example/v1", "auto",
			TOKEN_IDS_AUTO);
	check_token_ids("https://api.openai.com", "on", TOKEN_IDS_ON);
	check_token_ids("http://h", "off", TOKEN_IDS_OFF);
}

/* --- Keys. -------------------------------------------------------------- */

static void check_key(const char *const *words, const char *expected)
{
	struct line line;

	good_line(&line, words);
	assert_string_equal(line.config.upstream_key, expected);
	line_free(&line);
}

static void write_key(const char *text)
{
	struct error err;

	assert_true(file_write(key_file, span_of(text), &err));
}

static void test_config__a_key_in_argv_is_wiped_there(void **state UNUSED)
{
	struct line line;

	good_line(&line, WORDS(URL, "--upstream-api-key", "sk-secret"));
	assert_string_equal(line.config.upstream_key, "sk-secret");
	assert_memory_equal(line.argv[4], "\0\0\0\0\0\0\0\0\0", 10);
	assert_null(line.config.key_argument);
	line_free(&line);
	good_line(&line, WORDS(URL, "--upstream-api-key=sk-secret"));
	assert_string_equal(line.config.upstream_key, "sk-secret");
	assert_memory_equal(line.argv[3], "--upstream-api-key=\0\0\0\0\0\0\0",
			    27);
	line_free(&line);
}

static void test_config__a_key_in_argv_is_warned_of(void **state UNUSED)
{
	struct buf text = test_buf();
	struct capture capture;
	struct line line;

	log_set_level(LOG_WARN);
	capture_begin(&capture, STDERR_FILENO);
	good_line(&line, WORDS(URL, "--upstream-api-key", "sk-secret"));
	capture_end(&capture, &text);
	assert_true(span_contains(buf_span(&text), "--upstream-api-key-file"));
	assert_false(span_contains(buf_span(&text), "sk-secret"));
	line_free(&line);
	buf_release(&text);
}

static void test_config__keys_in_the_environment_are_wiped(void **state UNUSED)
{
	static char first[] = "OPENCODE_UPSTREAM_API_KEY=sk-first";
	static char second[] = "UPSTREAM_API_KEY=sk-second";

	putenv(first);
	putenv(second);
	check_key(WORDS(URL), "sk-first");
	assert_null(getenv("OPENCODE_UPSTREAM_API_KEY"));
	assert_null(getenv("UPSTREAM_API_KEY"));
	assert_null(memmem(first, sizeof(first), "first", 5));
	assert_null(memmem(second, sizeof(second), "second", 6));
}

static void test_config__the_more_explicit_key_wins(void **state UNUSED)
{
	write_key("sk-file\n");
	setenv("UPSTREAM_API_KEY", "sk-env", 1);
	check_key(WORDS(URL), "sk-env");
	setenv("UPSTREAM_API_KEY", "", 1);
	check_key(WORDS(URL), "intercepted");
	setenv("UPSTREAM_API_KEY", "sk-env", 1);
	check_key(WORDS(URL, "--upstream-api-key=sk-argv"), "sk-argv");
	assert_null(getenv("UPSTREAM_API_KEY"));
	check_key(WORDS(URL, "--upstream-api-key=sk-argv",
			"--upstream-api-key-file", key_file),
		  "sk-file");
}

static void test_config__a_key_that_cannot_be_one_is_refused(
	void **state UNUSED)
{
	check_refused(WORDS(URL, "--upstream-api-key="),
		      "--upstream-api-key: the key is empty");
	check_refused(WORDS(URL, "--upstream-api-key", " "),
		      "--upstream-api-key: the key holds white space");
	check_refused(WORDS(URL, "--upstream-api-key", "sk-\r\nX: y"),
		      "--upstream-api-key: the key holds white space");
	setenv("UPSTREAM_API_KEY", "sk-1\n", 1);
	check_refused(WORDS(URL), "environment: the key holds white space");
	assert_null(getenv("UPSTREAM_API_KEY"));
}

static void test_config__a_bad_key_file_is_named(void **state UNUSED)
{
	write_key(" \n");
	check_refused(WORDS(URL, "--upstream-api-key-file", key_file),
		      "--upstream-api-key-file: ");
	check_refused(WORDS(URL, "--client-key-file", key_file),
		      "--client-key-file: ");
	check_refused(WORDS(URL, "--client-key-file", "/nonexistent/key"),
		      "/nonexistent/key");
	write_key("sk-1 sk-2");
	check_refused(WORDS(URL, "--upstream-api-key-file", key_file),
		      "the key holds white space");
}

static void test_config__callers_may_need_a_key(void **state UNUSED)
{
	struct line line;

	write_key("client-secret\n");
	good_line(&line, WORDS(URL, "--client-key-file", key_file));
	assert_string_equal(line.config.client_key, "client-secret");
	assert_string_equal(line.config.upstream_key, "intercepted");
	line_free(&line);
}

static void test_config__no_key_is_ever_printed(void **state UNUSED)
{
	char text[] = "sk-secret-key and client-secret and intercepted";
	struct line line;

	write_key("client-secret\n");
	good_line(&line, WORDS(URL, "--client-key-file", key_file,
			       "--upstream-api-key=sk-secret-key"));
	log_masked(text);
	assert_string_equal(text,
			    "************* and ************* and intercepted");
	line_free(&line);
}

/* --- Errors. ------------------------------------------------------------ */

static void test_config__errors_name_the_option(void **state UNUSED)
{
	check_refused(WORDS("--verbose"), "--upstream-url is missing");
	check_refused(WORDS("--upstream-url", "h"), "--upstream-url: base URL");
	check_refused(WORDS("--upstream-url", "http://a:sk-1@h"),
		      "--upstream-url: base URL must hold no user");
	check_refused(WORDS(URL, "--port", "65536"), "--port");
	check_refused(WORDS(URL, "--max-tokens-cap", "0"), "--max-tokens-cap");
	check_refused(WORDS(URL, "--max-turns", "0"), "--max-turns");
	check_refused(WORDS(URL, "--request-timeout", "0"),
		      "--request-timeout");
	check_refused(WORDS(URL, "--request-timeout", "604801"),
		      "--request-timeout");
	check_refused(WORDS(URL, "--token-ids", "maybe"),
		      "--token-ids: 'maybe' is not one of auto, on, off");
	check_refused(WORDS(URL, "--sampling", "{\"x\":1}"),
		      "--sampling: unknown member \"x\"");
	check_refused(WORDS(URL, "--sampling", ""), "--sampling");
	check_refused(WORDS(URL, "--model-override", ""), "empty");
	check_refused(WORDS(URL, "extra"), "'extra'");
	check_refused(WORDS(URL, "--nonsense"), "--nonsense");
	check_refused(WORDS(URL, "--run-as", "root"), "--run-as: 'root'");
	check_refused(WORDS(URL, "--run-as", "0:1"), "--run-as: '0:1'");
	check_refused(WORDS(URL, "--run-as", "1:2147483648"), "--run-as");
}

/* A mistyped option beside a key must not print the key. */
static void test_config__errors_do_not_tell_the_key(void **state UNUSED)
{
	check_refused(WORDS(URL, "--upstream-api-kee=sk-1"),
		      "--upstream-api-kee");
	check_refused(WORDS(URL, "--upstream-api-key", "sk-1", "-xy"), "-x");
	check_refused(WORDS(URL, "--upstream-api-key", "sk-1", "--port=x"),
		      "--port");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_config__defaults),
		TEST(test_config__every_option_arrives),
		TEST(test_config__sampling_is_kept_as_text),
		TEST(test_config__strict_servers_are_not_asked_for_ids),
		TEST(test_config__a_key_in_argv_is_wiped_there),
		TEST(test_config__a_key_in_argv_is_warned_of),
		TEST(test_config__keys_in_the_environment_are_wiped),
		TEST(test_config__the_more_explicit_key_wins),
		TEST(test_config__a_key_that_cannot_be_one_is_refused),
		TEST(test_config__a_bad_key_file_is_named),
		TEST(test_config__callers_may_need_a_key),
		TEST(test_config__no_key_is_ever_printed),
		TEST(test_config__errors_name_the_option),
		TEST(test_config__errors_do_not_tell_the_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
