/* Command lines by table. */
#include "shared/options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/version.h"
#include "tests/unit/vectors.h"

struct target {
	bool verbose, quiet;
	enum option_switch color;
	const char *name, *mode;
	uint64_t count, timeout_ms;
	struct option_list files;
};

static const char *const modes[] = { "fast", "slow", NULL };

static const struct option_entry entries[] = {
	{ .type = OPTION_HEADING, .help = "What is done:" },
	{
		OPTION("verbose", FLAG, struct target, verbose),
		.env = "TEST_VERBOSE",
		.help = "say more",
	},
	{
		OPTION("quiet", FLAG, struct target, quiet),
		.help = "say less",
	},
	{
		OPTION("color", SWITCH, struct target, color),
		.env = "TEST_COLOR",
		.help = "in colours",
	},
	{ .type = OPTION_HEADING, .help = "How much:" },
	{
		OPTION("name", TEXT, struct target, name),
		.env = "TEST_NAME",
		.argument = "TEXT",
		.help = "a name; and because people want to know everything "
			"about it, a help text that is longer than what fits "
			"into two lines of a terminal",
	},
	{
		OPTION("mode", CHOICE, struct target, mode),
		.env = "TEST_MODE",
		.choices = modes,
		.argument = "fast|slow",
		.help = "how fast",
	},
	{
		OPTION("count", NUMBER, struct target, count),
		.env = "TEST_COUNT",
		.minimum = 2,
		.maximum = 10,
		.argument = "N",
		.help = "how many",
	},
	{
		OPTION("timeout", SECONDS, struct target, timeout_ms),
		.minimum = 10,
		.maximum = 60000,
		.argument = "S",
		.help = "how long",
	},
	{
		OPTION("file-with-a-very-long-name", LIST, struct target,
		       files),
		.argument = "FILE",
		.help = "which",
	},
};

static const struct option_table table = {
	.usage = "tester [OPTION]... [FILE]...",
	.summary = "Test the options.",
	.examples = "  tester --verbose\n",
	.exit_codes = "  0  fine\n",
	.entries = entries,
	.count = ARRAY_LEN(entries),
};

/* A command line, its words freed at the end. */
struct words {
	char *argv[16];
	int argc;
	char **operands;
};

static void split(struct words *words, const char *line)
{
	*words = (struct words){ .argc = 1 };
	words->argv[0] = strdup("tester");
	while (*line) {
		size_t len = strcspn(line, " ");

		words->argv[words->argc++] = strndup(line, len);
		line += len + (line[len] == ' ');
	}
}

static void words_free(struct words *words)
{
	for (int i = 0; i < words->argc; i++)
		free(words->argv[i]);
}

static enum options_result parse(struct words *words, const char *line,
				 struct target *target, struct error *err)
{
	*target = (struct target){ .name = "default", .count = 5 };
	split(words, line);
	return options_parse(&table, target, words->argc, words->argv,
			     &words->operands, err);
}

/* What a command line leaves in the target, as text. */
static void check_parsed(const char *line, const char *expected)
{
	struct error err = ERROR_INIT;
	struct buf text = test_buf();
	struct words words;
	struct target t;

	if (parse(&words, line, &t, &err) != OPTIONS_OK)
		fail_msg("%s: %s", line, err.text);
	putf(&text, "%s%s%s%s %s %s %llu %llu", t.verbose ? "v" : "",
	     t.quiet ? "q" : "", t.color == SWITCH_ON ? "+c" : "",
	     t.color == SWITCH_OFF ? "-c" : "", t.name, t.mode ? t.mode : "-",
	     (unsigned long long)t.count, (unsigned long long)t.timeout_ms);
	for (size_t i = 0; i < t.files.count; i++)
		putf(&text, " %s", t.files.items[i]);
	for (char **p = words.operands; *p; p++)
		putf(&text, " [%s]", *p);
	check_bytes(line, buf_span(&text), span_of(expected));
	option_list_release(&t.files);
	words_free(&words);
	buf_release(&text);
}

static void check_refused(const char *line, const char *why)
{
	struct error err = ERROR_INIT;
	struct words words;
	struct target t;

	assert_int_equal(parse(&words, line, &t, &err), OPTIONS_BAD);
	check_error(&err, ERROR_USAGE, why);
	if (strstr(err.text, "secret"))
		fail_msg("%s: tells a value: %s", line, err.text);
	option_list_release(&t.files);
	words_free(&words);
}

static void test_options__each_type_takes_its_value(void **state UNUSED)
{
	check_parsed("", " default - 5 0");
	check_parsed("--verbose", "v default - 5 0");
	check_parsed("--quiet --verbose", "vq default - 5 0");
	check_parsed("--name x --mode slow --count 7", " x slow 7 0");
	check_parsed("--name=x --mode=fast --count=10", " x fast 10 0");
	check_parsed("--name=", "  - 5 0");
	check_parsed("--name --verbose", " --verbose - 5 0");
}

static void test_options__switches_go_both_ways(void **state UNUSED)
{
	check_parsed("--color", "+c default - 5 0");
	check_parsed("--no-color", "-c default - 5 0");
	check_parsed("--no-color --color", "+c default - 5 0");
	check_parsed("--color --no-color", "-c default - 5 0");
}

static void test_options__the_last_one_wins(void **state UNUSED)
{
	check_parsed("--name a --name b", " b - 5 0");
	check_parsed("--file-with a --file-with=b --file-with a",
		     " default - 5 0 a b a");
}

static void test_options__seconds_have_three_decimals(void **state UNUSED)
{
	check_parsed("--timeout 1", " default - 5 1000");
	check_parsed("--timeout 1.5", " default - 5 1500");
	check_parsed("--timeout 0.01", " default - 5 10");
	check_parsed("--timeout 0.0109", " default - 5 10");
	check_parsed("--timeout 60", " default - 5 60000");
	check_parsed("--timeout 2.", " default - 5 2000");
}

static void test_options__operands_come_after(void **state UNUSED)
{
	check_parsed("a --verbose b", "v default - 5 0 [a] [b]");
	check_parsed("-- --verbose", " default - 5 0 [--verbose]");
	check_parsed("--quiet - x", "q default - 5 0 [-] [x]");
}

static void test_options__abbreviations_that_are_unique(void **state UNUSED)
{
	check_parsed("--verb --na x", "v x - 5 0");
	check_parsed("--no", "-c default - 5 0");
	check_refused("--co 3", "--co");
}

static void test_options__bad_numbers_name_option_and_value(void **state UNUSED)
{
	check_refused("--count x", "--count: 'x' is not a whole number");
	check_refused("--count -3", "--count: '-3' is not a whole number");
	check_refused("--count 1.5", "--count");
	check_refused("--count=", "--count");
	check_refused("--count 1", "--count: 1 is not between 2 and 10");
	check_refused("--count 11", "--count: 11 is not between 2 and 10");
	check_refused("--count 18446744073709551616", "--count");
}

static void test_options__bad_seconds_name_option_and_value(void **state UNUSED)
{
	check_refused("--timeout x", "--timeout: 'x' is not a number of");
	check_refused("--timeout .5", "--timeout");
	check_refused("--timeout 1.2.3", "--timeout");
	check_refused("--timeout -1", "--timeout");
	check_refused("--timeout 1e3", "--timeout");
	check_refused("--timeout 99999999999999999999", "--timeout");
	check_refused("--timeout 0", "--timeout: 0 is not between 0.01 and 60");
	check_refused("--timeout 61",
		      "--timeout: 61 is not between 0.01 and 60");
}

static void test_options__bad_choices_name_the_good_ones(void **state UNUSED)
{
	check_refused("--mode medium",
		      "--mode: 'medium' is not one of fast, slow");
}

static void test_options__unknown_words_are_named(void **state UNUSED)
{
	check_refused("--nonsense", "--nonsense is not an option");
	check_refused("--verbose --nonsense x", "--nonsense");
	check_refused("-v", "-v is not an option");
	check_refused("--name secret -vq", "-v is not an option");
	check_refused("--quiet=1", "--quiet");
	check_refused("--name", "--name needs a value");
	check_refused("--verbose --count", "--count needs a value");
}

/* A mistyped name must not print the value after it, which may be a key. */
static void test_options__values_of_unknown_words_are_not_told(
	void **state UNUSED)
{
	check_refused("--nonsense=secret", "--nonsense");
	check_refused("--quiet=secret", "--quiet");
	check_refused("--co=secret", "--co");
}

static void check_environment(const char *name, const char *value,
			      const char *line, const char *expected)
{
	setenv(name, value, 1);
	check_parsed(line, expected);
	unsetenv(name);
}

static void test_options__environment_stands_in(void **state UNUSED)
{
	check_environment("TEST_NAME", "x", "", " x - 5 0");
	check_environment("TEST_NAME", "x", "--name y", " y - 5 0");
	check_environment("TEST_NAME", "", "", " default - 5 0");
	check_environment("TEST_COUNT", "3", "", " default - 3 0");
	check_environment("TEST_MODE", "slow", "", " default slow 5 0");
	check_environment("TEST_VERBOSE", "1", "", "v default - 5 0");
	check_environment("TEST_VERBOSE", "0", "", " default - 5 0");
	check_environment("TEST_VERBOSE", "false", "", " default - 5 0");
}

static void test_options__environment_sets_switches_both_ways(
	void **state UNUSED)
{
	check_environment("TEST_COLOR", "1", "", "+c default - 5 0");
	check_environment("TEST_COLOR", "0", "", "-c default - 5 0");
	check_environment("TEST_COLOR", "false", "", "-c default - 5 0");
	check_environment("TEST_COLOR", "0", "--color", "+c default - 5 0");
	check_environment("TEST_COLOR", "1", "--no-color", "-c default - 5 0");
}

static void test_options__a_bad_variable_is_named(void **state UNUSED)
{
	setenv("TEST_COUNT", "many", 1);
	check_refused("", "environment variable TEST_COUNT: --count: 'many'");
	check_parsed("--count 3", " default - 3 0");
	unsetenv("TEST_COUNT");
}

/* What is printed on stdout by options that end the program. */
static void print(const char *line, struct buf *text)
{
	struct error err = ERROR_INIT;
	struct capture capture;
	struct words words;
	struct target t;

	capture_begin(&capture, STDOUT_FILENO);
	assert_int_equal(parse(&words, line, &t, &err), OPTIONS_DONE);
	capture_end(&capture, text);
	words_free(&words);
}

static void test_options__version_names_the_program(void **state UNUSED)
{
	struct buf text = test_buf();

	print("--version", &text);
	check_text(buf_span(&text), "tester " OCTAP_VERSION "\n");
	buf_release(&text);
}

static void test_options__help_tells_everything(void **state UNUSED)
{
	struct buf text = test_buf();

	print("--verbose --help", &text);
	check_text(buf_span(&text),
		   "Usage: tester [OPTION]... [FILE]...\n"
		   "\n"
		   "Test the options.\n"
		   "\n"
		   "What is done:\n"
		   "  --verbose                   say more [environment: "
		   "TEST_VERBOSE]\n"
		   "  --quiet                     say less\n"
		   "  --[no-]color                in colours [environment: "
		   "TEST_COLOR]\n"
		   "\n"
		   "How much:\n"
		   "  --name TEXT                 a name; and because people "
		   "want to know\n"
		   "                              everything about it, a help "
		   "text that is longer\n"
		   "                              than what fits into two "
		   "lines of a terminal\n"
		   "                              [environment: TEST_NAME]\n"
		   "  --mode fast|slow            how fast [environment: "
		   "TEST_MODE]\n"
		   "  --count N                   how many [environment: "
		   "TEST_COUNT]\n"
		   "  --timeout S                 how long\n"
		   "  --file-with-a-very-long-name FILE\n"
		   "                              which\n"
		   "\n"
		   "  --help                      show this text\n"
		   "  --version                   show the version\n"
		   "\n"
		   "Examples:\n"
		   "  tester --verbose\n"
		   "\n"
		   "Exit status:\n"
		   "  0  fine\n");
	buf_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options__each_type_takes_its_value),
		cmocka_unit_test(test_options__switches_go_both_ways),
		cmocka_unit_test(test_options__the_last_one_wins),
		cmocka_unit_test(test_options__seconds_have_three_decimals),
		cmocka_unit_test(test_options__operands_come_after),
		cmocka_unit_test(test_options__abbreviations_that_are_unique),
		cmocka_unit_test(
			test_options__bad_numbers_name_option_and_value),
		cmocka_unit_test(
			test_options__bad_seconds_name_option_and_value),
		cmocka_unit_test(test_options__bad_choices_name_the_good_ones),
		cmocka_unit_test(test_options__unknown_words_are_named),
		cmocka_unit_test(
			test_options__values_of_unknown_words_are_not_told),
		cmocka_unit_test(test_options__environment_stands_in),
		cmocka_unit_test(
			test_options__environment_sets_switches_both_ways),
		cmocka_unit_test(test_options__a_bad_variable_is_named),
		cmocka_unit_test(test_options__version_names_the_program),
		cmocka_unit_test(test_options__help_tells_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
