/* Write transactions, and reads within them. A transaction uses one STORE_WRITE connection in one thread. A
 * commit is synced to disk before another connection can see it.
 *
 * Functions that write need an open transaction. Functions named find, get or list also run without one, on
 * any connection, each in a snapshot of its own. After an error the transaction is still open: the caller
 * rolls it back. Returned texts are copied into the caller's arena. Texts passed to a list callback are valid
 * until it returns. ERR_NOT_FOUND means that there is no such row. If a callback returns false, the list ends
 * without an error. */
#ifndef VT_STORE_WRITE_H
#define VT_STORE_WRITE_H

#include "base/arena.h"
#include "base/error.h"
#include "store/audit.h"
#include "store/model.h"
#include "store/store.h"

/* Begin, commit and roll back a write transaction. */
MUST_USE enum err store_begin(struct store *s);
MUST_USE enum err store_commit(struct store *s); /* rolls back if it fails */
void store_rollback(struct store *s);            /* does nothing if no transaction is open */

enum { STORE_REPEATS_MAX = 5 };
/* Call after a transaction has failed with ERR_BUSY and no transaction is open. Returns true if the caller
 * should run the whole transaction again: PostgreSQL has ended it because of a deadlock or a serialization
 * failure, and this function has returned true fewer than STORE_REPEATS_MAX times. Before it returns true, it
 * waits for up to 320 ms. `*repeats` counts the calls that returned true; set it to 0 before the first
 * attempt.
 *
 * Write transactions run one after the other, so only locks of other programs cause such failures: for
 * example, an operator's LOCK TABLE. */
MUST_USE bool store_should_repeat(struct store *s, int *repeats);

/* --- authors --- */

/* Finds an author by id. */
MUST_USE enum err store_find_author(struct store *s, struct arena *a, const struct uuid *id,
                                    struct author *out);
/* Reads an author by row. */
MUST_USE enum err store_get_author(struct store *s, struct arena *a, int64_t author_row, struct author *out);
/* Inserts an author; sets author->row and author->rev. */
MUST_USE enum err store_insert_author(struct store *s, struct author *author);
/* Writes the author's name and plan_active; increments the revision. Records a change of the plan by `by` at
 * `now` in the audit log. */
MUST_USE enum err store_update_author(struct store *s, const struct author *author, int64_t now,
                                      const struct actor *by);
typedef bool (*store_author_fn)(void *ctx, const struct author *author);
/* Lists all authors by (created_at, id). */
MUST_USE enum err store_list_authors(struct store *s, store_author_fn fn, void *ctx);
/* Increments the author's revision. Sets views_refreshed_at to `refreshed_at`, unless `refreshed_at` is
 * TIME_NONE or the stored time is newer. One call per author and transaction is enough. */
MUST_USE enum err store_touch_author(struct store *s, int64_t author_row, int64_t refreshed_at);

/* --- API keys --- */

/* Inserts an unused key and sets key->row. Returns ERR_EXISTS if the hash exists. This function,
 * store_revoke_key() and the first use of a key write to the audit log. */
MUST_USE enum err store_insert_key(struct store *s, struct api_key *key, const uint8_t hash[KEY_HASH_LEN],
                                   const struct actor *by);
/* Inserts a key with its former times of last use and revocation, and sets key->row. Does not write to the
 * audit log. Returns ERR_EXISTS if another key has the id or the hash. */
MUST_USE enum err store_restore_key(struct store *s, struct api_key *key, const uint8_t hash[KEY_HASH_LEN]);
MUST_USE enum err store_find_key_by_id(struct store *s, struct arena *a, const struct uuid *id,
                                       struct api_key *out);
MUST_USE enum err store_find_key_by_hash(struct store *s, struct arena *a, const uint8_t hash[KEY_HASH_LEN],
                                         struct api_key *out);
/* Revokes a key. Does nothing if it has been revoked before. */
MUST_USE enum err store_revoke_key(struct store *s, int64_t key_row, int64_t now, const struct actor *by);
typedef bool (*store_key_fn)(void *ctx, const struct api_key *key);
/* Lists the keys of an author by created_at. */
MUST_USE enum err store_list_keys(struct store *s, int64_t author_row, store_key_fn fn, void *ctx);
/* Sets the key's last_used_at to `at`, unless the stored time is newer. `address` is the client's IP address,
 * which the entry of the audit log about the first use contains; p == NULL: unknown. */
MUST_USE enum err store_set_key_used(struct store *s, int64_t key_row, int64_t at, struct str address);

/* --- books --- */

/* Finds a book by id. */
MUST_USE enum err store_find_book(struct store *s, struct arena *a, const struct uuid *id, struct book *out);
/* Inserts a book, sets book->row, and increments the author's number of books. */
MUST_USE enum err store_insert_book(struct store *s, struct book *book);
/* Writes the book's title, subtitle and created_at. Increments the author's feed_rev if the title changes.
 * `old` is the stored book. */
MUST_USE enum err store_update_book(struct store *s, const struct book *old, const struct book *book);

/* Returns how many reads to combine in one call of store_load_videos() or store_find_posts(). Returns 1 if a
 * read costs no round trip. */
size_t store_get_read_batch(const struct store *s);

/* --- videos --- */

/* Makes sure that the first `needed` of `count` videos are loaded: loads all `count` videos in one round
 * trip, unless the first `needed` are still loaded from the previous call. The first call of
 * store_get_video() in this transaction returns the loaded video, even if the video has been changed since it
 * was loaded. So call store_get_video() before changing a loaded video. Does nothing if a read costs no round
 * trip. `video_rows` may contain a row several times. */
MUST_USE enum err store_load_videos(struct store *s, const int64_t *video_rows, size_t needed, size_t count);

/* Finds a video by id. */
MUST_USE enum err store_find_video(struct store *s, struct arena *a, const struct uuid *id,
                                   struct video *out);
/* Reads a video by row. */
MUST_USE enum err store_get_video(struct store *s, struct arena *a, int64_t video_row, struct video *out);
/* Inserts a video with its posts, and sets video->row and video->days. If the video is posted, increments the
 * numbers of posted videos of its author and book. Does not assign the platforms' post ids to the video: call
 * store_put_post_key() for each post. */
MUST_USE enum err store_insert_video(struct store *s, struct video *video);
/* Writes the members that an import line can change: book, posted_at, title, thumbnail_url, posts. Updates
 * the numbers of posted videos of the author and the books. Increments the author's feed_rev if a page of
 * /events could show the change. `old` is the stored video. */
MUST_USE enum err store_update_video(struct store *s, const struct video *old, const struct video *video);
/* Writes the members that a step can change: views, baseline, first_reading_at, updated_at, threshold,
 * baseline_pending, posts, milestones, days. With `went_viral` also writes went_viral_at and
 * views_when_viral. Precondition: a function of the same transaction has read, inserted or saved `video`. */
MUST_USE enum err store_save_counts(struct store *s, const struct video *video, bool went_viral);
/* Like store_save_counts(), and adds `gained` views to the video's gains of `day`. Afterwards video->days
 * points into the arena. Precondition: video->views already includes `gained`. Returns ERR_CORRUPT if `day`
 * is older than the newest day with a gain. */
MUST_USE enum err store_save_gain(struct store *s, struct arena *a, struct video *video, bool went_viral,
                                  int32_t day, int64_t gained);

/* Records `count` days of gains, ascending, for a video that has no gains yet. Afterwards video->days points
 * into the arena. Does not save the video: call store_save_counts() afterwards. */
MUST_USE enum err store_restore_gains(struct store *s, struct arena *a, struct video *video,
                                      const struct day_gain *days, size_t count);
/* Reads all days on which the video has gained views, ascending. `*days` is valid until the next call with
 * this store that reads or records days. */
MUST_USE enum err store_read_all_days(struct store *s, const struct video *video,
                                      const struct day_gain **days, size_t *count);

/* --- the platforms' ids of posts --- */

struct post_key {
    enum platform platform;
    struct str post_id;
};
struct post_owner {
    int64_t video_row, author_row;
};
/* Finds the videos of several posts. `keys` may contain a post several times. `out` has room for `count`
 * owners; video_row is 0 if no video has the post. */
MUST_USE enum err store_find_posts(struct store *s, const struct post_key *keys, size_t count,
                                   struct post_owner *out);
/* Finds the video that has the post with this id. */
MUST_USE enum err store_find_post(struct store *s, enum platform platform, struct str post_id,
                                  struct post_owner *out);
/* Assigns a platform's post id to the video. Returns ERR_EXISTS if the id belongs to another video. */
MUST_USE enum err store_put_post_key(struct store *s, enum platform platform, struct str post_id,
                                     int64_t video_row);
/* Deletes the assignment of a platform's post id to its video, and what refresh runs have stored about the
 * post (platform_posts.h). */
MUST_USE enum err store_delete_post_key(struct store *s, enum platform platform, struct str post_id);

/* --- events, and data for the rules --- */

/* A video with which other videos are compared to decide whether they are viral. */
struct comparable {
    int64_t video_row;
    int64_t views;
};
/* Lists the newest `limit` videos of the author that have a reading and were posted at or before `posted_to`,
 * by (posted_at, id), descending. `out` has room for `limit` videos. */
MUST_USE enum err store_list_comparables(struct store *s, int64_t author_row, int64_t posted_to, int limit,
                                         struct comparable *out, size_t *count);

/* Inserts an event and sets the author's last_event_id. Sets event->id to max(last issued id + 1, now), so
 * that no id is issued twice. */
MUST_USE enum err store_insert_event(struct store *s, struct event *event, int64_t now);

/* Reads, in one snapshot, all events of an author by id, then all of the author's videos by row, including
 * those that are not posted. Not for request handlers: the duration depends on the size of the account. */
struct feed_reader {
    void (*on_event)(void *ctx, const struct event *event);
    void (*on_video)(void *ctx, const struct video *video);
    void *ctx;
};
MUST_USE enum err store_read_feed(struct store *s, int64_t author_row, const struct feed_reader *reader);

/* Lists at most `limit` videos whose baseline waits for the finalizing of an import, ordered by author. */
struct pending_video {
    int64_t author_row, video_row;
};
MUST_USE enum err store_list_pending_videos(struct store *s, struct pending_video *out, size_t limit,
                                            size_t *count);

#endif
