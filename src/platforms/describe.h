/* Formats outcomes and items as text, for `platform probe` and for test samples. */
#ifndef VT_PLATFORMS_DESCRIBE_H
#define VT_PLATFORMS_DESCRIBE_H

#include "base/buf.h"
#include "platforms/platform.h"

/* Appends kind, scope and code of an outcome, then the other members that are set: "retry account 80002
 * wait=420000 usage=97". Appends no line end. */
void describe_outcome(struct buf *b, const struct outcome *o);

/* Appends id and state of an item and, if it is ITEM_OK, its counts in the order of enum count_kind or, after
 * a CALL_RESOLVE, the resolved id. `-` is an unknown count; `source` is item->views_source, unless it is 0.
 * Appends no line end. An example:
 *
 *   item 1784 ok 1000 58 6 3 - source=1 */
void describe_item(struct buf *b, const struct platform_item *item);

/* Appends " name=value", or nothing if the value is empty or 0. */
void describe_text(struct buf *b, const char *name, struct str text);
void describe_number(struct buf *b, const char *name, int64_t n);

#endif
