/* Splices taken back; without cmocka, for the fuzz targets too. */
#include "tests/unit/undo.h"

/* Move `count` bytes from the front of `from` to `to`. */
static bool move(struct span *from, size_t count, struct buf *to)
{
	struct error err;

	if (count > from->len ||
	    !buf_add(to, span_from(from->data, count), &err))
		return false;
	*from = span_after(*from, count);
	return true;
}

static bool skip(struct span *from, struct span text)
{
	if (text.len > from->len ||
	    !span_equals(span_from(from->data, text.len), text))
		return false;
	*from = span_after(*from, text.len);
	return true;
}

bool undo_splices(const struct splice_list *list, struct span source,
		  struct span edited, struct buf *out)
{
	size_t pos = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct splice *s = &list->items[i];
		struct span cut = span_from(source.data + s->at, s->cut);

		if (!move(&edited, s->at - pos, out) ||
		    !skip(&edited, s->text) || !move(&cut, s->cut, out))
			return false;
		pos = s->at + s->cut;
	}
	return move(&edited, edited.len, out);
}
