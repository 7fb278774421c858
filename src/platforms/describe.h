/* Outcomes and items as lines of text, for `platform probe` and for the samples of the tests. */
#ifndef VT_PLATFORMS_DESCRIBE_H
#define VT_PLATFORMS_DESCRIBE_H

#include "base/buf.h"
#include "platforms/platform.h"

/* "later account 80002 wait=420000 usage=97": verdict, scope, code, then what is set. Without a line end. */
void describe_outcome(struct buf *b, const struct outcome *o);

/* "item 1784 ok 1000 58 6 3 - source=1": id, state, counts in the order of enum count_kind. Without a line
 * end. */
void describe_item(struct buf *b, const struct platform_item *item);

/* " name=value", or nothing if the value is empty or 0. */
void describe_text(struct buf *b, const char *name, struct str text);
void describe_number(struct buf *b, const char *name, int64_t n);

#endif
