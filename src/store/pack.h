/* The packed columns `posts` and `milestones` of the table `videos`. With them, a video's row contains
 * everything that a page shows. day_pack.h describes the packed gains by day.
 *
 *   posts       version 1, count, then per post, by ascending platform:
 *               platform, posted_at, updated_at, five counts, post_id, url
 *   milestones  version 1, count, then per milestone, by ascending value: value, reached_at
 *
 * Numbers are LEB128 varints in their shortest form. Times, including TIME_NONE, are zigzag-encoded. A count
 * is stored plus one; 0 means unknown. A text is its length and its bytes. The length of `url` is stored plus
 * one; 0 means none. An empty column means no posts or no milestones. */
#ifndef VT_STORE_PACK_H
#define VT_STORE_PACK_H

#include "base/buf.h"
#include "store/model.h"

/* Append the packed form to `b`. Check b->failed afterwards. */
void pack_posts(struct buf *b, const struct post *posts, size_t count);
void pack_milestones(struct buf *b, const struct milestone *milestones, size_t count);

/* Unpack a column. Return false if `packed` is not exactly what the pack function would have written. The
 * texts of posts point into `packed`. */
bool unpack_posts(struct str packed, struct post posts[PLATFORM_COUNT], size_t *count);
bool unpack_milestones(struct str packed, struct milestone milestones[MILESTONES_MAX], size_t *count);

#endif
