/* What can be said with --sampling. */
#include "shared/sampling.h"

#include "shared/json_scan.h"
#include "shared/json_text.h"

const char *const sampling_names[SAMPLING_COUNT] = {
	"temperature",
	"top_p",
	"top_k",
	"min_p",
	"presence_penalty",
	"frequency_penalty",
	"repetition_penalty",
	"seed",
};

static bool is_name(struct span key)
{
	for (size_t i = 0; i < SAMPLING_COUNT; i++)
		if (json_key_is(key, sampling_names[i]))
			return true;
	return false;
}

bool sampling_check(struct span json, struct error *err)
{
	struct json_cursor c;
	struct span key;

	json_open(&c, json);
	json_enter_object(&c);
	while (json_next_key(&c, &key)) {
		struct json_value value;

		if (!json_read(&c, &value))
			break;
		if (!is_name(key))
			return error_set(err, ERROR_USAGE,
					 "unknown member %.*s", (int)key.len,
					 key.data);
		if (value.type != JSON_NUMBER)
			return error_set(err, ERROR_USAGE,
					 "%.*s must be a number", (int)key.len,
					 key.data);
	}
	if (!json_close(&c))
		return error_set(err, ERROR_USAGE, "not a JSON object");
	return true;
}
