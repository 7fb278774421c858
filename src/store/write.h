/* Write transactions. One connection (STORE_WRITE), one thread, one transaction at a time: BEGIN IMMEDIATE …
 * COMMIT, with fsync before the commit is visible to anyone. Every function that writes needs an open
 * transaction; find, get and list also run without one, on any connection, each in a snapshot of its own. An
 * error leaves the transaction open: the caller rolls back. Strings that come out live in the caller's arena;
 * those that list functions give to their callback die when it returns. ERR_NOT_FOUND: no such row. */
#ifndef VT_STORE_WRITE_H
#define VT_STORE_WRITE_H

#include "base/arena.h"
#include "base/error.h"
#include "store/model.h"
#include "store/store.h"

MUST_USE enum err store_begin(struct store *s);
MUST_USE enum err store_commit(struct store *s); /* ERR_FULL, ERR_IO: rolled back already */
void store_rollback(struct store *s);            /* harmless when none is open */

/* Authors. find: ERR_NOT_FOUND. insert sets author->row; created with rev 1. */
MUST_USE enum err store_find_author(struct store *s, struct arena *a, const struct uuid *id,
                                    struct author *out);
MUST_USE enum err store_get_author(struct store *s, struct arena *a, int64_t author_row, struct author *out);
MUST_USE enum err store_insert_author(struct store *s, struct author *author);
MUST_USE enum err store_update_author(struct store *s,
                                      const struct author *author); /* name, plan_active; bumps rev */
typedef bool (*store_author_fn)(void *ctx, const struct author *author);
MUST_USE enum err store_list_authors(struct store *s, store_author_fn fn,
                                     void *ctx); /* by created_at, id; CLI */

/* rev + 1, and views_refreshed_at raised to `refreshed_at` when that is newer (TIME_NONE: leave). Once for
 * each author and transaction is enough. */
MUST_USE enum err store_touch_author(struct store *s, int64_t author_row, int64_t refreshed_at);

/* API keys. insert: ERR_EXISTS for a hash that is there. */
MUST_USE enum err store_insert_key(struct store *s, struct api_key *key, const uint8_t hash[KEY_HASH_LEN]);
MUST_USE enum err store_find_key_by_id(struct store *s, struct arena *a, const struct uuid *id,
                                       struct api_key *out);
MUST_USE enum err store_find_key_by_hash(struct store *s, struct arena *a, const uint8_t hash[KEY_HASH_LEN],
                                         struct api_key *out);
/* Keeps an earlier revocation, and then writes nothing to disk. */
MUST_USE enum err store_revoke_key(struct store *s, int64_t key_row, int64_t now);
typedef bool (*store_key_fn)(void *ctx, const struct api_key *key);
MUST_USE enum err store_list_keys(struct store *s, int64_t author_row, store_key_fn fn,
                                  void *ctx);                                       /* by created_at */
MUST_USE enum err store_set_key_used(struct store *s, int64_t key_row, int64_t at); /* never backwards */

/* Books. */
MUST_USE enum err store_find_book(struct store *s, struct arena *a, const struct uuid *id, struct book *out);
MUST_USE enum err store_insert_book(struct store *s, struct book *book);
MUST_USE enum err store_update_book(struct store *s,
                                    const struct book *book); /* title, subtitle, created_at */

/* Videos. put_video writes what an import line says (everything but counts); save_counts writes what a step
 * changes: views, baseline, first_reading_at, updated_at, line, baseline_pending, posts' counts and
 * milestones, and with `flipped` went_viral_at and views_when_viral too. Both take the whole packed posts.
 * What is saved must come from find, get or insert, or be what was saved last, in the same transaction: the
 * video's last days are written back. */
MUST_USE enum err store_find_video(struct store *s, struct arena *a, const struct uuid *id,
                                   struct video *out);
MUST_USE enum err store_get_video(struct store *s, struct arena *a, int64_t video_row, struct video *out);
MUST_USE enum err
store_insert_video(struct store *s,
                   struct video *video); /* sets row and recent; posts come with it, their keys do not */
MUST_USE enum err store_update_video(struct store *s, const struct video *video);
MUST_USE enum err store_save_counts(struct store *s, const struct video *video, bool flipped);
/* The same with what the video has gained (may be 0) on that day, added to its days. Days of a video never
 * run backwards. */
MUST_USE enum err store_save_gain(struct store *s, struct video *video, bool flipped, int32_t day,
                                  int64_t gained);

/* The platforms' own ids. find: the video and its author, ERR_NOT_FOUND. put: the (platform, post_id) must be
 * free or the video's own. */
struct post_owner {
    int64_t video_row, author_row;
};
MUST_USE enum err store_find_post(struct store *s, enum platform platform, struct str post_id,
                                  struct post_owner *out);
MUST_USE enum err store_put_post_key(struct store *s, enum platform platform, struct str post_id,
                                     int64_t video_row);
MUST_USE enum err store_delete_post_key(struct store *s, enum platform platform, struct str post_id);

/* The newest `limit` videos of the author with a reading and posted_at <= `posted_to`, by posted_at
 * descending, id descending. Fills at most `limit` rows; `*count` says how many. */
struct comparable {
    int64_t video_row;
    int64_t views;
};
MUST_USE enum err store_list_comparables(struct store *s, int64_t author_row, int64_t posted_to, int limit,
                                         struct comparable *out, size_t *count);

/* Gives the event its id: max(last id + 1, now), never given out before, and raises the author's head. */
MUST_USE enum err store_insert_event(struct store *s, struct event *event, int64_t now);

/* Videos whose baseline awaits the closing pass: rows with an author_row, ordered by author. At most `limit`.
 */
struct pending_video {
    int64_t author_row, video_row;
};
MUST_USE enum err store_list_pending(struct store *s, struct pending_video *out, size_t limit, size_t *count);

#endif
