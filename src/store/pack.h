/* The packed columns `posts`, `milestones` and `recent` of the table `videos`. One row holds everything that
 * a page needs.
 *
 *   posts       version 1, count, then for each post, by ascending platform:
 *               platform, posted_at, updated_at, five counts, post_id, url
 *   milestones  version 1, count, then for each, by ascending value: value, reached_at
 *   recent      version 1, the newest date, a bit mask of the seven dates before it that follow (1: the day
 * before, 2, 4 …), the sum of all earlier gains, then the gain of each day, by ascending date
 *
 * Numbers are LEB128 varints in their shortest form. Times are zigzag-encoded, TIME_NONE is null. Counts are
 * stored plus one, 0 is unknown. A text is its length and its bytes; `url` has its length plus one, 0 is
 * none. An empty column means no posts, no milestones, no gains. */
#ifndef VT_STORE_PACK_H
#define VT_STORE_PACK_H

#include "base/buf.h"
#include "store/model.h"

/* Append to `b`; check b->failed afterwards. */
void pack_posts(struct buf *b, const struct post *posts, size_t count);
void pack_milestones(struct buf *b, const struct milestone *milestones, size_t count);
void pack_recent(struct buf *b, const struct recent_days *recent); /* CHECKs recent->known */

/* Return false if `packed` is not what packing would have written. The texts of the posts point into
 * `packed`. */
bool unpack_posts(struct str packed, struct post posts[PLATFORM_COUNT], size_t *count);
bool unpack_milestones(struct str packed, struct milestone milestones[MILESTONES_MAX], size_t *count);
bool unpack_recent(struct str packed, struct recent_days *recent); /* sets recent->known */

#endif
