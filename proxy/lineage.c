/* Attempts and prefixes. */
#include "proxy/lineage.h"

#include <stdlib.h>
#include <string.h>

#include "shared/limits.h"
#include "shared/mem.h"

void lineages_init(struct lineages *lineages)
{
	*lineages = (struct lineages){ 0 };
	for (size_t i = 0; i < LINEAGES_KEPT; i++)
		buf_init(&lineages->kept[i].ids, LIMIT_LINEAGE_IDS);
}

static void forget(struct lineage *l)
{
	free(l->session);
	buf_release(&l->ids);
	*l = (struct lineage){ 0 };
	buf_init(&l->ids, LIMIT_LINEAGE_IDS);
}

void lineages_release(struct lineages *lineages)
{
	for (size_t i = 0; i < LINEAGES_KEPT; i++)
		forget(&lineages->kept[i]);
}

static struct lineage *find(struct lineages *lineages, const struct turn *turn)
{
	struct lineage *oldest = &lineages->kept[0];

	for (size_t i = 0; i < LINEAGES_KEPT; i++) {
		struct lineage *l = &lineages->kept[i];

		if (l->session && l->kind == turn->kind &&
		    span_is(turn->session_id, l->session)) {
			l->used = ++lineages->ticks;
			return l;
		}
		if (l->used < oldest->used)
			oldest = l;
	}
	forget(oldest);
	oldest->session = xasprintf("%.*s", (int)turn->session_id.len,
				    turn->session_id.data);
	oldest->kind = turn->kind;
	oldest->used = ++lineages->ticks;
	return oldest;
}

static uint64_t mix(uint64_t h, const char *bytes, size_t len)
{
	uint64_t word = 0;

	memcpy(&word, bytes, len);
	h = (h ^ word) * 0x9E3779B97F4A7C15u;
	return h ^ h >> 29;
}

/* In four rows of words, none of which waits for another: it may be long. */
static uint64_t hash(struct span body)
{
	uint64_t h[4] = { body.len, 1, 2, 3 };
	const char *p = body.data, *end = p + body.len;

	for (; end - p >= 32; p += 32)
		for (int i = 0; i < 4; i++)
			h[i] = mix(h[i], p + 8 * i, 8);
	for (; end - p >= 8; p += 8)
		h[0] = mix(h[0], p, 8);
	h[0] = mix(h[0], p, (size_t)(end - p));
	for (int i = 1; i < 4; i++)
		h[0] = mix(h[0], (const char *)&h[i], 8);
	return h[0];
}

void lineage_begin(struct lineages *lineages, struct turn *turn,
		   struct span body)
{
	struct lineage *l = find(lineages, turn);
	uint64_t sum = hash(body);

	turn->attempt = 1;
	if (l->last_turn && l->last_failed && l->last_hash == sum) {
		turn->attempt = l->last_attempt + 1;
		turn->supersedes = l->last_turn;
	}
	l->last_turn = turn->number;
	l->last_hash = sum;
	l->last_attempt = turn->attempt;
	l->last_failed = false;
}

void lineage_lost(struct lineages *lineages, const struct turn *turn)
{
	struct lineage *l = find(lineages, turn);

	if (l->last_turn == turn->number)
		l->last_failed = true;
}

/* Add the items of a JSON array, without white space. */
static bool add_ids(struct buf *ids, struct span array)
{
	struct error err;

	if (ids->len && !buf_add(ids, SPAN(","), &err))
		return false;
	for (size_t i = 0; i < array.len; i++) {
		size_t start = i;

		while (i < array.len && !strchr(" \t\r\n[]", array.data[i]))
			i++;
		if (i > start &&
		    !buf_add(ids, span_from(array.data + start, i - start),
			     &err))
			return false;
	}
	return true;
}

/* The number of the item that byte `at` is in. */
static uint64_t item_at(struct span list, size_t at)
{
	uint64_t item = 0;

	for (size_t i = 0; i < at; i++)
		item += list.data[i] == ',';
	return item;
}

static void compare(const struct lineage *l, struct span prompt,
		    struct turn *turn)
{
	struct span before = buf_span(&l->ids);
	size_t same = 0;

	turn->prefix_of = l->ids_turn;
	while (same < before.len && same < prompt.len &&
	       before.data[same] == prompt.data[same])
		same++;
	if (same == before.len &&
	    (same == prompt.len || prompt.data[same] == ','))
		return;
	turn->prefix_broken = true;
	turn->prefix_break = item_at(before, same);
	/* One ended there: the item that is missing is the next. */
	if (same < before.len && before.data[same] == ',' && same &&
	    same == prompt.len)
		turn->prefix_break++;
}

void lineage_end(struct lineages *lineages, struct turn *turn)
{
	struct lineage *l = find(lineages, turn);
	struct buf ids;

	if (l->last_turn == turn->number)
		l->last_failed = !turn->delivered || !turn->complete;
	if (!turn->complete || !turn->prompt_token_ids.len ||
	    !turn->completion_token_ids.len)
		return;
	buf_init(&ids, LIMIT_LINEAGE_IDS);
	if (!add_ids(&ids, turn->prompt_token_ids)) {
		buf_release(&ids);
		return;
	}
	if (l->ids_turn)
		compare(l, buf_span(&ids), turn);
	buf_release(&l->ids);
	l->ids_turn = 0;
	if (add_ids(&ids, turn->completion_token_ids)) {
		l->ids = ids;
		l->ids_turn = turn->number;
	} else {
		buf_release(&ids);
		buf_init(&l->ids, LIMIT_LINEAGE_IDS);
	}
}
