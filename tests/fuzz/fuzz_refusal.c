/*
 * Refusals of any bytes: none is put down to what was not added, and what the
 * agent gets instead of one is JSON that asks for nothing more.
 */
#include <string.h>

#include "proxy/additions.h"
#include "proxy/shield.h"
#include "shared/json_scan.h"
#include "tests/fuzz/fuzz.h"

#define FLAGS 4

static const unsigned statuses[] = { 400, 401, 403, 404, 413, 422, 429, 500 };

static void check_addition(unsigned status, struct span body, unsigned added)
{
	enum addition refused = addition_refused(status, body, added);

	MUST(refused == ADDITION_NONE || added >> refused & 1u);
	MUST(addition_refused(status, body, 0) == ADDITION_NONE);
}

static void check_shield(unsigned status, struct span body)
{
	struct error err;
	struct buf out;

	if (!shield_needed(status, body))
		return;
	buf_init(&out, 1u << 20);
	MUST(shield_write(body, &out, &err));
	MUST(json_valid(buf_span(&out)));
	MUST(!shield_needed(status, buf_span(&out)));
	buf_release(&out);
}

static void check_retry_after(struct span body, bool in_ms)
{
	char value[64] = "", instead[24];
	size_t len = body.len < sizeof(value) ? body.len : sizeof(value) - 1;

	memcpy(value, body.data, len);
	if (shield_retry_after(value, in_ms, 30, instead))
		MUST(strlen(instead) < sizeof(instead));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span body;
	unsigned status, added;

	if (size < FLAGS)
		return 0;
	status = statuses[data[0] % ARRAY_LEN(statuses)];
	added = data[1] | (unsigned)data[2] << 8 | (unsigned)data[3] << 16;
	added &= (1u << ADDITION_COUNT) - 1;
	body = input_span(data + FLAGS, size - FLAGS);
	check_addition(status, body, added);
	check_shield(status, body);
	check_retry_after(body, data[0] & 1u);
	return 0;
}
