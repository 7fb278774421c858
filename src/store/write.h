/* Write transactions, and reads within them. A transaction uses one STORE_WRITE connection in one thread; a
 * commit is synced to disk before another connection can see it.
 *
 * Functions that write need an open transaction. find, get and list functions also run without one, on any
 * connection, each in a snapshot of its own. An error leaves the transaction open: the caller rolls back.
 * Returned texts are copied into the caller's arena; texts passed to a list callback are valid until it
 * returns. ERR_NOT_FOUND: no such row. A callback that returns false ends the list without an error. */
#ifndef VT_STORE_WRITE_H
#define VT_STORE_WRITE_H

#include "base/arena.h"
#include "base/error.h"
#include "store/model.h"
#include "store/store.h"

MUST_USE enum err store_begin(struct store *s);
MUST_USE enum err store_commit(struct store *s); /* rolls back if it fails */
void store_rollback(struct store *s);            /* does nothing if no transaction is open */

/* --- authors --- */

MUST_USE enum err store_find_author(struct store *s, struct arena *a, const struct uuid *id,
                                    struct author *out);
MUST_USE enum err store_get_author(struct store *s, struct arena *a, int64_t author_row, struct author *out);
/* Sets author->row and rev. */
MUST_USE enum err store_insert_author(struct store *s, struct author *author);
/* Writes name and plan_active; increments rev. */
MUST_USE enum err store_update_author(struct store *s, const struct author *author);
/* By created_at, id. For the CLI. */
typedef bool (*store_author_fn)(void *ctx, const struct author *author);
MUST_USE enum err store_list_authors(struct store *s, store_author_fn fn, void *ctx);
/* Increments rev, and raises views_refreshed_at to `refreshed_at` if that is newer (TIME_NONE: leave it).
 * Once per author and transaction is enough. */
MUST_USE enum err store_touch_author(struct store *s, int64_t author_row, int64_t refreshed_at);

/* --- API keys --- */

/* Sets key->row. ERR_EXISTS if the hash exists. */
MUST_USE enum err store_insert_key(struct store *s, struct api_key *key, const uint8_t hash[KEY_HASH_LEN]);
MUST_USE enum err store_find_key_by_id(struct store *s, struct arena *a, const struct uuid *id,
                                       struct api_key *out);
MUST_USE enum err store_find_key_by_hash(struct store *s, struct arena *a, const uint8_t hash[KEY_HASH_LEN],
                                         struct api_key *out);
/* Does nothing if the key is revoked already. */
MUST_USE enum err store_revoke_key(struct store *s, int64_t key_row, int64_t now);
/* By created_at. */
typedef bool (*store_key_fn)(void *ctx, const struct api_key *key);
MUST_USE enum err store_list_keys(struct store *s, int64_t author_row, store_key_fn fn, void *ctx);
/* Sets last_used_at, which never decreases. */
MUST_USE enum err store_set_key_used(struct store *s, int64_t key_row, int64_t at);

/* --- books --- */

MUST_USE enum err store_find_book(struct store *s, struct arena *a, const struct uuid *id, struct book *out);
MUST_USE enum err store_insert_book(struct store *s, struct book *book); /* sets book->row */
/* Writes title, subtitle and created_at. */
MUST_USE enum err store_update_book(struct store *s, const struct book *book);

/* --- videos --- */

MUST_USE enum err store_find_video(struct store *s, struct arena *a, const struct uuid *id,
                                   struct video *out);
MUST_USE enum err store_get_video(struct store *s, struct arena *a, int64_t video_row, struct video *out);
/* Sets row and recent. Inserts the posts, but not their keys (store_put_post_key()). */
MUST_USE enum err store_insert_video(struct store *s, struct video *video);
/* Writes what an import line can change: book, posted_at, title, thumbnail_url, posts. */
MUST_USE enum err store_update_video(struct store *s, const struct video *video);
/* Writes what a step can change: views, baseline, first_reading_at, updated_at, threshold, baseline_pending,
 * posts, milestones, recent days; with `went_viral` also went_viral_at and views_when_viral. `video` must
 * come from a find, get, insert or save of the same transaction. */
MUST_USE enum err store_save_counts(struct store *s, const struct video *video, bool went_viral);
/* The same, and adds `gained` views to the video's gains of `day`, which is not older than its newest one. */
MUST_USE enum err store_save_gain(struct store *s, struct video *video, bool went_viral, int32_t day,
                                  int64_t gained);

/* --- the platforms' ids of posts --- */

struct post_owner {
    int64_t video_row, author_row;
};
MUST_USE enum err store_find_post(struct store *s, enum platform platform, struct str post_id,
                                  struct post_owner *out);
/* ERR_EXISTS if the id belongs to another video. */
MUST_USE enum err store_put_post_key(struct store *s, enum platform platform, struct str post_id,
                                     int64_t video_row);
MUST_USE enum err store_delete_post_key(struct store *s, enum platform platform, struct str post_id);

/* --- rules --- */

/* Returns the newest `limit` videos of the author that have a reading and were posted until `posted_to`, by
 * (posted_at, id), descending. `out` has room for `limit`. */
struct comparable {
    int64_t video_row;
    int64_t views;
};
MUST_USE enum err store_list_comparables(struct store *s, int64_t author_row, int64_t posted_to, int limit,
                                         struct comparable *out, size_t *count);

/* Assigns the event its id, max(last id + 1, now), which was never issued before, and sets the author's
 * last_event_id. */
MUST_USE enum err store_insert_event(struct store *s, struct event *event, int64_t now);

/* Returns at most `limit` videos whose baseline waits for the finalizing of an import, by author. */
struct pending_video {
    int64_t author_row, video_row;
};
MUST_USE enum err store_list_pending(struct store *s, struct pending_video *out, size_t limit, size_t *count);

#endif
