/* Known members of an object, and the rest. */
#include "proxy/members.h"

#include "shared/json_text.h"

bool list_add(struct buf *list, struct span item, struct error *err)
{
	return buf_add(list, list->len ? SPAN(",") : SPAN("["), err) &&
	       buf_add(list, item, err);
}

static bool rest_begin(struct rest *rest, struct error *err)
{
	if (rest->begun)
		return buf_add(rest->list, SPAN(","), err);
	rest->begun = true;
	if (!rest->within)
		return list_add(rest->list, SPAN("{"), err);
	return list_add(rest->list, SPAN("{\""), err) &&
	       buf_add(rest->list, span_of(rest->within), err) &&
	       buf_add(rest->list, SPAN("\":{"), err);
}

bool rest_add(struct rest *rest, struct span key, struct span value,
	      struct error *err)
{
	return rest_begin(rest, err) && buf_add(rest->list, key, err) &&
	       buf_add(rest->list, SPAN(":"), err) &&
	       buf_add(rest->list, value, err);
}

bool rest_end(const struct rest *rest, struct error *err)
{
	return !rest->begun ||
	       buf_add(rest->list, rest->within ? SPAN("}}") : SPAN("}"), err);
}

static size_t index_of_key(const struct member *known, size_t count,
			   struct span key)
{
	size_t i = 0;

	while (i < count && !json_key_is(key, known[i].name))
		i++;
	return i;
}

static bool is_of_type(const struct member *known, enum json_type type)
{
	return type == known->type || type == known->or_type ||
	       type == JSON_NULL;
}

bool members_pick(struct span object, const struct member *known,
		  struct json_value *values, size_t count, struct buf *rest,
		  const char *within, struct error *err)
{
	struct rest others = { .list = rest, .within = within };
	struct json_value value;
	struct json_cursor c;
	struct span key;

	for (size_t i = 0; i < count; i++)
		values[i] = JSON_VALUE_NONE;
	json_open(&c, object);
	if (json_peek(&c) != JSON_OBJECT)
		return true;
	json_enter_object(&c);
	while (json_next_key(&c, &key) && json_read(&c, &value)) {
		size_t i = index_of_key(known, count, key);

		if (i < count && is_of_type(&known[i], value.type))
			values[i] = value;
		else if (value.type != JSON_NULL &&
			 !rest_add(&others, key, value.text, err))
			return false;
	}
	return rest_end(&others, err);
}

void list_write(const struct buf *list, const char *key, struct json_writer *jw)
{
	if (!list->len)
		return;
	jw_key(jw, key);
	jw_wrapped(jw, "", buf_span(list), "]");
}
