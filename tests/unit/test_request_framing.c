/* Requests' ends: the same however the bytes are split, strict, bounded. */
#include "shared/request_framing.h"

#include <stdlib.h>
#include <string.h>

#include "shared/limits.h"
#include "shared/mem.h"
#include "tests/unit/vectors.h"

struct seen {
	struct request_framing framing;
	struct error err;
};

static void feed_piece(struct span piece, void *arg)
{
	struct seen *seen = arg;

	if (!seen->framing.fault &&
	    !request_framing_feed(&seen->framing, piece, &seen->err))
		assert_true(seen->framing.fault);
}

/* However it is split: so many whole requests, then this fault (0: none). */
static void check_requests(struct span text, unsigned requests, unsigned fault)
{
	for (int way = 0; way < FEED_WAYS; way++) {
		struct seen seen;

		request_framing_init(&seen.framing);
		feed(text, way, feed_piece, &seen);
		assert_int_equal(seen.framing.requests, requests);
		assert_int_equal(seen.framing.fault, fault);
	}
}

#define HOST "Host: a\r\n"
#define POST "POST / HTTP/1.1\r\n" HOST

static void check_whole(struct span text)
{
	struct request_framing f;
	struct error err;

	check_requests(text, 1, 0);
	request_framing_init(&f);
	assert_false(request_framing_in_request(&f));
	for (size_t i = 0; i < text.len; i++) {
		assert_int_equal(f.requests, 0);
		assert_true(request_framing_feed(
			&f, span_from(text.data + i, 1), &err));
		assert_int_equal(request_framing_in_request(&f),
				 i + 1 < text.len);
	}
}

static void test_request_framing__whole(void **state UNUSED)
{
	check_whole(SPAN("GET / HTTP/1.1\r\n" HOST "\r\n"));
	check_whole(SPAN("HEAD / HTTP/1.0\r\n\r\n"));
	check_whole(SPAN("GET http://h:1/p HTTP/1.1\r\n" HOST "\r\n"));
	check_whole(SPAN(POST "Content-Length: 0\r\n\r\n"));
	check_whole(SPAN(POST "content-length:\t 3 \t\r\n\r\nabc"));
	check_whole(SPAN(POST "Content-Length: 5\r\nEmpty:\r\n\r\nab\r\n\n"));
	check_whole(SPAN(POST "Transfer-Encoding: CHUNKED\r\n\r\n"
			      "3\r\nabc\r\n00A\r\n\r\n\r\n\r\n\r\n\r\n\r\n"
			      "0\r\nTrailer: x\r\n\r\n"));
	check_whole(SPAN(POST "Transfer-Encoding:chunked\r\n\r\n0\r\n\r\n"));
}

static void test_request_framing__several(void **state UNUSED)
{
	check_requests(SPAN(POST "Content-Length: 3\r\n\r\nabc" POST
				 "Transfer-Encoding: chunked\r\n\r\n"
				 "1\r\na\r\n0\r\n\r\n" POST "\r\n"),
		       3, 0);
	check_requests(SPAN(POST "Content-Length: 3\r\n\r\nabc" POST "A\r\n"),
		       1, 400);
	check_requests(SPAN(POST "Content-Length: 3\r\n\r\nabc\r\n"), 1, 400);
}

static void test_request_framing__malformed(void **state UNUSED)
{
	static const char *const texts[] = {
		"\r\n",
		" POST",
		"POST\r\n",
		"POST /\r\n",
		"POST x HTTP/1.1\r\n",
		"POST * HTTP/1.1\r\n",
		"POST / HTTP/1.2\r\n",
		"POST / HTTP/1.1 \r\n",
		"POST / HTTP/1.1\n",
		"POST / HTTP/1.1\rx",
		"POST /\x80 HTTP/1.1\r\n",
		POST " a\r\n",
		POST "a b: c\r\n",
		POST "a : c\r\n",
		POST ": c\r\n",
		POST "a: b\n",
		POST "a: b\x7F",
		POST "a: b\x01",
		POST HOST,
		POST "Content-Length:\r\n",
		POST "Content-Length: +1\r\n",
		POST "Content-Length: 1,1\r\n",
		POST "Content-Length: 18446744073709551616\r\n",
		POST "Content-Length: 1                        \r\n",
		POST "Content-Length: 1\r\nContent-Length: 1\r\n",
		POST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		POST "Transfer-Encoding: gzip\r\n",
		POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n",
		POST "Transfer-Encoding: chunked\r\n\r\n\r\n",
		POST "Transfer-Encoding: chunked\r\n\r\n1;a\r\n",
		POST "Transfer-Encoding: chunked\r\n\r\n00000000000000001",
		POST "Transfer-Encoding: chunked\r\n\r\n1\n",
		POST "Transfer-Encoding: chunked\r\n\r\n1\r\nab",
		POST "Transfer-Encoding: chunked\r\n\r\n1\r\na\rb",
		POST "Transfer-Encoding: chunked\r\n\r\n0\r\n a",
		"POST / HTTP/1.1\r\n\r\n",
		"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
		"HEAD / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\n",
		"POSTPOSTPOSTPOSTPOSTPOSTPOST / HTTP/1.1\r\n" HOST
		"Content-Length: 1\r\n\r\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		check_requests(span_of(texts[i]), 0, 400);
	check_requests(SPAN("POST / HTTP/1.1\r\n" HOST "A: \0\r\n"), 0, 400);
}

/* A head of so many bytes, its last `cut` left out. */
static void check_head(size_t bytes, size_t cut, unsigned requests,
		       unsigned fault)
{
	struct buf text = test_buf();
	struct seen seen;

	put(&text, SPAN("GET / HTTP/1.1\r\n" HOST "A: "));
	while (text.len < bytes - 4)
		put(&text, SPAN("a"));
	put(&text, SPAN("\r\n\r\n"));
	request_framing_init(&seen.framing);
	feed(span_from(text.data, bytes - cut), FEED_RANDOM, feed_piece, &seen);
	assert_int_equal(seen.framing.requests, requests);
	assert_int_equal(seen.framing.fault, fault);
	buf_release(&text);
}

static void test_request_framing__head_limit(void **state UNUSED)
{
	check_head(LIMIT_HTTP_HEADERS, 0, 1, 0);
	check_head(LIMIT_HTTP_HEADERS + 1, 1, 0, 0);
	check_head(LIMIT_HTTP_HEADERS + 1, 0, 0, 431);
	check_head(2 * LIMIT_HTTP_HEADERS, 0, 0, 431);
}

static void feed_text(struct request_framing *f, const char *text,
		      unsigned fault)
{
	struct error err;

	assert_int_equal(request_framing_feed(f, span_of(text), &err), !fault);
	assert_int_equal(f->fault, fault);
}

static void test_request_framing__what_the_server_has_not(void **state UNUSED)
{
	static const char *const methods[] = {
		"TRACE",
		"CONNECT",
		"post",
		"PROPFIND",
		"POSTPOSTPOSTPOSTPOSTPOST",
		"HEADHEADHEADHEADHEADHEADHEAD",
	};
	static const char *const expectations[] = { "", "x", "100-continue, x",
						    "100", "100-continue;a" };
	struct buf text = test_buf();

	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		buf_clear(&text);
		putf(&text, "%s / HTTP/1.1\r\n" HOST "\r\n", methods[i]);
		check_requests(buf_span(&text), 0, 501);
	}
	for (size_t i = 0; i < ARRAY_LEN(expectations); i++) {
		buf_clear(&text);
		putf(&text, POST "Expect: %s\r\n\r\n", expectations[i]);
		check_requests(buf_span(&text), 0, 417);
	}
	buf_release(&text);
	check_requests(SPAN(POST "Expect: 100-continue\r\nExpect: x\r\n\r\n"),
		       0, 417);
	check_requests(SPAN(POST "expect:100-Continue \r\n\r\n"), 1, 0);
	check_requests(SPAN("POST / HTTP/1.0\r\nExpect: x\r\n\r\n"), 1, 0);
}

static void test_request_framing__body_limit(void **state UNUSED)
{
	struct request_framing f;

	request_framing_init(&f);
	feed_text(&f, POST "Content-Length: 67108864\r\n\r\n", 0);
	assert_int_equal(request_framing_skip(&f, SIZE_MAX), LIMIT_HTTP_BODY);
	assert_int_equal(f.requests, 1);
	feed_text(&f, POST "Content-Length: 67108865\r\n\r\n", 413);
	assert_int_equal(request_framing_skip(&f, 1), 0);

	request_framing_init(&f);
	feed_text(&f, POST "Transfer-Encoding: chunked\r\n\r\n3ffffff\r\n", 0);
	assert_int_equal(request_framing_skip(&f, SIZE_MAX),
			 LIMIT_HTTP_BODY - 1);
	feed_text(&f, "\r\n1\r\na\r\n1\r\n", 413);

	request_framing_init(&f);
	feed_text(&f, POST "Transfer-Encoding: chunked\r\n\r\n", 0);
	feed_text(&f, "ffffffffffffffff\r\n", 413);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request_framing__whole),
		cmocka_unit_test(test_request_framing__several),
		cmocka_unit_test(test_request_framing__malformed),
		cmocka_unit_test(test_request_framing__head_limit),
		cmocka_unit_test(test_request_framing__what_the_server_has_not),
		cmocka_unit_test(test_request_framing__body_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
