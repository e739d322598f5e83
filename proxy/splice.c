/* Byte-exact editing: a sorted list of cuts and insertions. */
#include "proxy/splice.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "shared/mem.h"

void splice_release(struct splice_list *list)
{
	free(list->items);
	*list = (struct splice_list)SPLICE_LIST_INIT;
}

void splice_clear(struct splice_list *list)
{
	list->count = 0;
}

/* What is put in at an offset comes before what is cut out there. */
static bool comes_after(const struct splice *a, const struct splice *b)
{
	return a->at > b->at || (a->at == b->at && a->cut && !b->cut);
}

static void add(struct splice_list *list, struct splice splice)
{
	size_t i = list->count;

	if (list->count == list->alloc) {
		list->alloc = list->alloc ? list->alloc * 2 : 8;
		list->items = xrealloc_array(list->items, list->alloc,
					     sizeof(*list->items));
	}
	for (; i && comes_after(&list->items[i - 1], &splice); i--)
		list->items[i] = list->items[i - 1];
	list->items[i] = splice;
	list->count++;
}

void splice_insert(struct splice_list *list, size_t at, struct span text)
{
	add(list, (struct splice){ .at = at, .text = text });
}

void splice_replace(struct splice_list *list, size_t at, size_t cut,
		    struct span text)
{
	add(list, (struct splice){ .at = at, .cut = cut, .text = text });
}

void splice_remove(struct splice_list *list, size_t at, size_t cut)
{
	add(list, (struct splice){ .at = at, .cut = cut });
}

bool splice_apply(const struct splice_list *list, struct span source,
		  struct buf *out, struct error *err)
{
	size_t pos = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct splice *s = &list->items[i];

		assert(s->at >= pos && s->cut <= source.len - s->at);
		if (!buf_add(out, span_from(source.data + pos, s->at - pos),
			     err) ||
		    !buf_add(out, s->text, err))
			return false;
		pos = s->at + s->cut;
	}
	return buf_add(out, span_after(source, pos), err);
}

size_t splice_length_from(const struct splice_list *list, size_t len, size_t at)
{
	len -= at;
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].at >= at)
			len = len - list->items[i].cut +
			      list->items[i].text.len;
	return len;
}

void cutter_begin(struct member_cutter *cutter, struct splice_list *list,
		  size_t inside)
{
	*cutter = (struct member_cutter){ .list = list, .kept_end = inside };
}

void cutter_member(struct member_cutter *cutter, size_t start, size_t end,
		   bool remove)
{
	if (remove) {
		if (!cutter->cutting)
			cutter->cut_from = start;
		cutter->cutting = true;
		cutter->cut_to = end;
		return;
	}
	if (cutter->cutting)
		splice_remove(cutter->list, cutter->cut_from,
			      start - cutter->cut_from);
	cutter->cutting = false;
	cutter->kept_any = true;
	cutter->kept_end = end;
}

void cutter_end(struct member_cutter *cutter)
{
	size_t from;

	if (!cutter->cutting)
		return;
	from = cutter->kept_any ? cutter->kept_end : cutter->cut_from;
	splice_remove(cutter->list, from, cutter->cut_to - from);
	cutter->cutting = false;
}
