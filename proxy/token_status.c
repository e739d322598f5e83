#include "proxy/token_status.h"

#include <string.h>

#include "shared/json_scan.h"
#include "shared/json_text.h"

static struct span next_item(struct span *list)
{
	const char *comma =
		list->len ? memchr(list->data, ',', list->len) : NULL;
	size_t len = comma ? (size_t)(comma - list->data) : list->len;
	struct span item = span_from(list->data, len);

	*list = span_after(*list, comma ? len + 1 : len);
	return item;
}

/* Where the entries tell ids too, these must be the same. */
static bool ids_agree(struct span ids, struct span told)
{
	ids = span_after(ids, 1); /* the bracket */
	told = span_after(told, 1);
	while (told.len) {
		struct span id = next_item(&ids), also = next_item(&told);

		if (!span_is(also, "null") && !span_equals(id, also))
			return false;
	}
	return true;
}

/* What a choice has: ids, log-probabilities, both in agreement, or neither. */
static enum token_status choice_status(const struct choice *choice)
{
	size_t ids = choice_ids(choice)
			     ? (choice->id_count ? choice->id_count
						 : choice->told_count)
			     : 0;

	if (!ids && !choice->entry_count)
		return TOKENS_NONE;
	if (choice->bad_entry)
		return TOKENS_MISMATCH;
	if (!choice->entry_count)
		return TOKENS_IDS_ONLY;
	if (!ids)
		return TOKENS_LOGPROBS_ONLY;
	if (ids != choice->entry_count)
		return TOKENS_MISMATCH;
	if (choice->id_count && choice->told_count &&
	    !ids_agree(buf_span(&choice->ids), buf_span(&choice->told_ids)))
		return TOKENS_MISMATCH;
	return TOKENS_UNCONFIRMED;
}

static bool usage_tokens(const struct assembler *a, uint64_t *count)
{
	struct json_value value;

	return json_find(buf_span(&a->usage), "completion_tokens", &value) &&
	       json_to_u64(value, count);
}

enum token_status token_status_of(const struct assembler *a)
{
	const struct choice *first = assemble_first(a);
	enum token_status status;
	uint64_t told;

	/* The record's own tokens are choice 0's. */
	if (!first)
		return TOKENS_NONE;
	/* It may have borne any. */
	if (a->unreadable)
		return TOKENS_MISMATCH;
	status = choice_status(first);
	for (size_t i = 0; i < a->choice_count; i++)
		if (choice_status(&a->choices[i]) != status)
			return TOKENS_MISMATCH;
	if (status == TOKENS_NONE || status == TOKENS_MISMATCH ||
	    !usage_tokens(a, &told))
		return status;
	if (assemble_tokens(a) != told)
		return TOKENS_MISMATCH;
	return status == TOKENS_UNCONFIRMED ? TOKENS_EXACT : status;
}
