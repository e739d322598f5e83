/* Masking within the strings of a JSON text. */
#include "controller/mask_json.h"

#include "shared/json_text.h"
#include "shared/json_write.h"
#include "shared/log.h"

/* The length of the string that the text begins with, its quotes included. */
static size_t string_length(struct span text)
{
	size_t i = 1;

	while (i < text.len && text.data[i] != '"')
		i += text.data[i] == '\\' ? 2 : 1;
	return i < text.len ? i + 1 : text.len;
}

/* A secret may be written with escapes: what counts is what the string says. */
static bool copy_string(struct span string, struct buf *out, struct error *err)
{
	struct json_value value = { .type = JSON_STRING, .text = string };
	struct json_writer jw;
	struct buf text;
	bool ok;

	buf_init(&text, string.len + 1);
	ok = json_unescape(value, &text, err);
	if (ok && text.len && log_mask_bytes(text.data, text.len)) {
		jw_init(&jw, out);
		jw_string(&jw, buf_span(&text));
		ok = jw_finish(&jw, err);
	} else if (ok) {
		ok = buf_add(out, string, err);
	}
	buf_release(&text);
	return ok;
}

bool mask_json(struct span json, struct buf *out, struct error *err)
{
	while (json.len) {
		size_t len = 0;

		while (len < json.len && json.data[len] != '"')
			len++;
		if (!buf_add(out, span_from(json.data, len), err))
			return false;
		json = span_after(json, len);
		if (!json.len)
			break;
		len = string_length(json);
		if (!copy_string(span_from(json.data, len), out, err))
			return false;
		json = span_after(json, len);
	}
	return true;
}
