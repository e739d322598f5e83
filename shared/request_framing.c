/*
 * One state for each place in a request, one byte at a time; only bodies are
 * passed over in one step.
 */
#include "shared/request_framing.h"

#include <string.h>

#include "shared/limits.h"

enum state {
	IN_METHOD,
	IN_TARGET,
	IN_VERSION,
	AFTER_REQUEST_LINE, /* its CR has come */
	AT_FIELD,           /* a header's first byte, or the empty line's CR */
	IN_NAME,
	IN_VALUE,
	AFTER_VALUE, /* its CR has come */
	AFTER_HEAD,  /* the empty line's CR has come */
	IN_BODY,
	IN_CHUNK_LENGTH,
	AFTER_CHUNK_LENGTH, /* its CR has come */
	IN_CHUNK,
	AT_CHUNK_END,
	AFTER_CHUNK, /* its CR has come */
};

/* Digits of a chunk's length; LIMIT_HTTP_BODY has 7. */
#define CHUNK_DIGITS 16

void request_framing_init(struct request_framing *f)
{
	*f = (struct request_framing){ .state = IN_METHOD };
	request_target_init(&f->target);
}

bool request_framing_in_request(const struct request_framing *f)
{
	return f->head_bytes > 0;
}

static bool refuse(struct request_framing *f, unsigned status, const char *why,
		   struct error *err)
{
	bool large = status == 413 || status == 431;

	f->fault = status;
	return error_set(err, large ? ERROR_TOO_LARGE : ERROR_MALFORMED, "%s",
			 why);
}

static bool malformed(struct request_framing *f, const char *why,
		      struct error *err)
{
	return refuse(f, 400, why, err);
}

static bool is_token(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z') || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static void word_begin(struct request_framing *f)
{
	f->word_len = 0;
}

static void word_add(struct request_framing *f, unsigned char c)
{
	if (f->word_len < sizeof(f->word))
		f->word[f->word_len] = (char)c;
	f->word_len++;
}

/* None if it was cut: such words equal nothing. */
static struct span word(const struct request_framing *f)
{
	return f->word_len < sizeof(f->word) ? span_from(f->word, f->word_len)
					     : SPAN_NONE;
}

static void enter(struct request_framing *f, enum state state)
{
	f->state = state;
	word_begin(f);
}

static bool in_method(struct request_framing *f, unsigned char c,
		      struct error *err)
{
	if (is_token(c)) {
		word_add(f, c);
		return true;
	}
	if (c != ' ' || !f->word_len)
		return malformed(f, "no request line", err);
	request_head_method(&f->head, word(f));
	enter(f, IN_TARGET);
	return true;
}

static bool in_target(struct request_framing *f, unsigned char c,
		      struct error *err)
{
	if (c > ' ' && c < 0x7F && request_target_add(&f->target, (char)c))
		return true;
	if (c != ' ' || !request_target_is_whole(&f->target))
		return malformed(f, "no path in the request line", err);
	enter(f, IN_VERSION);
	return true;
}

static bool in_version(struct request_framing *f, unsigned char c,
		       struct error *err)
{
	if (c > ' ' && c < 0x7F) {
		word_add(f, c);
		return true;
	}
	f->head.old = span_is(word(f), "HTTP/1.0");
	if (c != '\r' || (!f->head.old && !span_is(word(f), "HTTP/1.1")))
		return malformed(f, "another version of HTTP", err);
	enter(f, AFTER_REQUEST_LINE);
	return true;
}

static bool after_cr(struct request_framing *f, unsigned char c,
		     enum state next, struct error *err)
{
	if (c != '\n')
		return malformed(f, "a carriage return alone", err);
	enter(f, next);
	return true;
}

static bool at_field(struct request_framing *f, unsigned char c,
		     struct error *err)
{
	if (c == '\r') {
		enter(f, AFTER_HEAD);
		return true;
	}
	if (c == ' ' || c == '\t')
		return malformed(f, "a folded header line", err);
	if (!is_token(c))
		return malformed(f, "not a header line", err);
	enter(f, IN_NAME);
	word_add(f, c);
	return true;
}

static bool in_name(struct request_framing *f, unsigned char c,
		    struct error *err)
{
	if (is_token(c)) {
		word_add(f, c);
		return true;
	}
	if (c != ':')
		return malformed(f, "not a header line", err);
	f->name[0] = '\0';
	if (f->word_len < sizeof(f->name)) {
		memcpy(f->name, f->word, f->word_len);
		f->name[f->word_len] = '\0';
	}
	enter(f, IN_VALUE);
	return true;
}

static bool take_field(struct request_framing *f, struct error *err)
{
	const char *fault;

	if (f->in_trailer)
		return true;
	fault = request_head_field(&f->head, f->name, word(f));
	return !fault || malformed(f, fault, err);
}

static bool in_value(struct request_framing *f, unsigned char c,
		     struct error *err)
{
	if (c == '\r') {
		if (!take_field(f, err))
			return false;
		enter(f, AFTER_VALUE);
		return true;
	}
	if ((c < ' ' && c != '\t') || c == 0x7F)
		return malformed(f, "a control byte in a header", err);
	if (f->word_len || (c != ' ' && c != '\t'))
		word_add(f, c);
	return true;
}

static void finish(struct request_framing *f)
{
	uint64_t requests = f->requests + 1;

	request_framing_init(f);
	f->requests = requests;
}

static bool too_large(struct request_framing *f, struct error *err)
{
	return refuse(f, 413, "the body is larger than allowed", err);
}

static bool after_head(struct request_framing *f, struct error *err)
{
	const char *why;
	unsigned fault = request_head_fault(&f->head, &why);

	if (fault)
		return refuse(f, fault, why, err);
	if (f->head.length > LIMIT_HTTP_BODY)
		return too_large(f, err);
	f->left = f->head.length;
	if (f->head.encodings)
		enter(f, IN_CHUNK_LENGTH);
	else if (f->left)
		enter(f, IN_BODY);
	else
		finish(f);
	return true;
}

static bool after_empty_line(struct request_framing *f, unsigned char c,
			     struct error *err)
{
	if (c != '\n')
		return malformed(f, "a carriage return alone", err);
	if (!f->in_trailer)
		return after_head(f, err);
	finish(f);
	return true;
}

/* The digit's value; -1: it is none. */
static int hex_value(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool in_chunk_length(struct request_framing *f, unsigned char c,
			    struct error *err)
{
	int digit = hex_value(c);

	if (digit >= 0 && f->chunk_digits < CHUNK_DIGITS) {
		f->left = f->left * 16 + (unsigned)digit;
		f->chunk_digits++;
		return true;
	}
	if (c != '\r' || !f->chunk_digits)
		return malformed(f, "a chunk without a plain length", err);
	f->chunk_digits = 0;
	if (f->left > LIMIT_HTTP_BODY - f->body_bytes)
		return too_large(f, err);
	enter(f, AFTER_CHUNK_LENGTH);
	return true;
}

static bool after_chunk_length(struct request_framing *f, unsigned char c,
			       struct error *err)
{
	f->in_trailer = !f->left;
	return after_cr(f, c, f->left ? IN_CHUNK : AT_FIELD, err);
}

static bool at_chunk_end(struct request_framing *f, unsigned char c,
			 struct error *err)
{
	if (c != '\r')
		return malformed(f, "a chunk longer than its length", err);
	enter(f, AFTER_CHUNK);
	return true;
}

static bool step(struct request_framing *f, unsigned char c, struct error *err)
{
	switch ((enum state)f->state) {
	case IN_METHOD:
		return in_method(f, c, err);
	case IN_TARGET:
		return in_target(f, c, err);
	case IN_VERSION:
		return in_version(f, c, err);
	case AFTER_REQUEST_LINE:
	case AFTER_VALUE:
		return after_cr(f, c, AT_FIELD, err);
	case AT_FIELD:
		return at_field(f, c, err);
	case IN_NAME:
		return in_name(f, c, err);
	case IN_VALUE:
		return in_value(f, c, err);
	case AFTER_HEAD:
		return after_empty_line(f, c, err);
	case IN_CHUNK_LENGTH:
		return in_chunk_length(f, c, err);
	case AFTER_CHUNK_LENGTH:
		return after_chunk_length(f, c, err);
	case AT_CHUNK_END:
		return at_chunk_end(f, c, err);
	case AFTER_CHUNK:
		return after_cr(f, c, IN_CHUNK_LENGTH, err);
	case IN_BODY:
	case IN_CHUNK:
		break;
	}
	return true;
}

uint64_t request_framing_body_left(const struct request_framing *f)
{
	if (f->fault || (f->state != IN_BODY && f->state != IN_CHUNK))
		return 0;
	return f->left;
}

size_t request_framing_skip(struct request_framing *f, size_t len)
{
	if (f->fault || (f->state != IN_BODY && f->state != IN_CHUNK))
		return 0;
	if (len > f->left)
		len = (size_t)f->left;
	f->left -= len;
	f->body_bytes += len;
	if (f->left)
		return len;
	if (f->state == IN_BODY)
		finish(f);
	else
		enter(f, AT_CHUNK_END);
	return len;
}

/* Lengths of chunks count as neither: the body's limit bounds them. */
static bool counts_as_head(const struct request_framing *f)
{
	return f->state < IN_BODY;
}

bool request_framing_feed(struct request_framing *f, struct span bytes,
			  struct error *err)
{
	size_t i = 0;

	if (f->fault)
		return error_set(err, ERROR_MALFORMED, "refused before");
	while (i < bytes.len) {
		size_t skipped = request_framing_skip(f, bytes.len - i);

		i += skipped;
		if (skipped)
			continue;
		if (counts_as_head(f) && ++f->head_bytes > LIMIT_HTTP_HEADERS)
			return refuse(f, 431, "the head is larger than allowed",
				      err);
		if (!step(f, (unsigned char)bytes.data[i++], err))
			return false;
	}
	return true;
}
