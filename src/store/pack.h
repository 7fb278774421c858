/* The packed columns `posts`, `milestones` and `recent` of a videos row: everything of a page in one row.
 * Pure functions.
 *
 *   posts       version 1, count, then for each post, platforms ascending:
 *               platform, posted_at, updated_at, five counts, post_id, url
 *   milestones  version 1, count, then for each, values ascending: value, reached_at
 *   recent      version 1, the newest date, which of the seven dates before it follow (1: the one before it,
 *               2, 4 …), the sum of all earlier gains, then the gain of each day, ascending
 *
 * Numbers are LEB128 varints in their shortest form. Times are zigzag-coded, one that is null is TIME_NONE;
 * counts are stored plus one, 0 for not known. A text is its length and its bytes; `url` has its length plus
 * one, 0 for none. No bytes at all: no posts, no milestones,
 * no gains.
 *
 * Decoding trusts nothing: what encoding would not have written is refused (false). */
#ifndef VT_STORE_PACK_H
#define VT_STORE_PACK_H

#include "base/buf.h"
#include "store/model.h"

/* Append to `b`; look at b->failed afterwards. */
void pack_posts(struct buf *b, const struct post *posts, size_t count);
void pack_milestones(struct buf *b, const struct milestone *milestones, size_t count);
void pack_recent(struct buf *b, const struct recent_days *recent); /* CHECKs that they are known */

/* The texts of the posts point into `packed`. */
bool unpack_posts(struct str packed, struct post posts[PLATFORM_COUNT], size_t *count);
bool unpack_milestones(struct str packed, struct milestone milestones[MILESTONES_MAX], size_t *count);
bool unpack_recent(struct str packed, struct recent_days *recent); /* makes them known */

#endif
