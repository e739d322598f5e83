/*
 * The JSON scanner on any bytes: a value read is a value by itself, walking
 * into containers accepts what passing over them accepts, with an index as
 * without, texts are UTF-8.
 */
#include "shared/buf.h"
#include "shared/json_scan.h"
#include "shared/json_text.h"
#include "tests/fuzz/fuzz.h"

static void look_at(struct json_value value)
{
	struct error err;
	struct buf text;
	double number;

	buf_init(&text, 1u << 20);
	if (value.type == JSON_STRING && json_unescape(value, &text, &err))
		MUST(!utf8_valid(value.text) || utf8_valid(buf_span(&text)));
	json_to_double(value, &number);
	json_string_starts_with(value, "a\n");
	buf_release(&text);
}

/* The deepest levels are passed over: the walk recurses. */
static void walk(struct json_cursor *c, unsigned depth)
{
	struct json_value value;
	enum json_type type = json_peek(c);
	struct span key;

	if (depth && type == JSON_OBJECT) {
		json_enter_object(c);
		while (json_next_key(c, &key)) {
			json_key_is(key, "model");
			walk(c, depth - 1);
		}
	} else if (depth && type == JSON_ARRAY) {
		json_enter_array(c);
		while (json_next_item(c))
			walk(c, depth - 1);
	} else if (json_read(c, &value)) {
		MUST(value.type == type);
		look_at(value);
	}
}

static void walk_indexed(struct span text, unsigned levels, bool valid)
{
	struct json_index index;
	struct json_cursor c;

	json_index_make(&index, text, levels);
	MUST(valid || !index.count);
	json_open_indexed(&c, text, &index);
	walk(&c, 64);
	MUST(json_close(&c) || !valid);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = input_span(data, size);
	struct json_value value;
	struct json_cursor c;
	bool valid;

	json_open(&c, text);
	json_skip(&c);
	valid = json_close(&c);
	json_open(&c, text);
	walk(&c, 64);
	/* Levels that are entered do not count for the limit. */
	MUST(json_close(&c) || !valid);
	for (unsigned levels = 0; levels <= JSON_PARTS_LEVELS; levels++)
		walk_indexed(text, levels, valid);
	MUST(json_valid(text) == (valid && utf8_valid(text)));
	if (json_find(text, "a", &value)) {
		MUST(valid || size > 1024);
		look_at(value);
	}
	return 0;
}
