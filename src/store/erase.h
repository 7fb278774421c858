/* Deletes an author or a video with everything that belongs to it, or a book without its videos. The rules of
 * write.h apply.
 *
 * Erasing an author leaves a tombstone, which is the hash of the author's UUID. Because of the tombstone, a
 * restore erases the author again (carry.h), and an import does not create the author again.
 *
 * Row ids of authors and keys are never reused, because caches of running servers contain them. */
#ifndef VT_STORE_ERASE_H
#define VT_STORE_ERASE_H

#include "store/write.h"

/* Prepares the connection for the functions below. Call before store_begin(). With SQLite, sets
 * secure_delete, which overwrites deleted rows with zeros, and disables the check of foreign keys. Several
 * columns of foreign keys have no index, so the check would read whole tables for each deleted row. Does
 * nothing with PostgreSQL. */
MUST_USE enum err store_prepare_erasure(struct store *s);

/* The tables from which store_erase_author() deletes rows. */
enum {
    ERASED_WEBHOOK_REQUESTS,
    ERASED_WEBHOOK_ATTEMPTS,
    ERASED_WEBHOOK_ENDPOINTS,
    ERASED_AUDIT,
    ERASED_EVENTS,
    ERASED_PLATFORM_LINKS,
    ERASED_PLATFORM_CREDENTIALS,
    ERASED_INVITATIONS,
    ERASED_SESSIONS,
    ERASED_DEVICES,
    ERASED_LOGINS,
    ERASED_OAUTH_CODES,
    ERASED_API_KEYS,
    ERASED_DAILY,
    ERASED_AUTHOR_DAILY,
    ERASED_PLATFORM_POSTS,
    ERASED_POST_KEYS,
    ERASED_VIDEOS,
    ERASED_BOOKS,
    ERASED_AUTHORS,
    ERASED_TABLES
};
struct erased_rows {
    int64_t counts[ERASED_TABLES]; /* deleted rows by table */
};

/* Returns the name of a table in the database. The text is static. */
const char *erased_table_name(int table);

/* Deletes the rows of an author from all tables and inserts the tombstone. Sets `*rows` to the numbers of
 * deleted rows. */
MUST_USE enum err store_erase_author(struct store *s, const struct author *author, int64_t now,
                                     struct erased_rows *rows);

/* Deletes all authors that have a tombstone. A restore calls this function, because the backup may contain
 * authors that were erased after it was made. Sets `*count` to the number of deleted authors. */
MUST_USE enum err store_erase_authors_again(struct store *s, int64_t now, int64_t *count);

/* Sets `*is_erased` to true if the author has a tombstone. */
MUST_USE enum err store_find_tombstone(struct store *s, const struct uuid *author, bool *is_erased);

/* Deletes an author's tombstone, if there is one, so that the author can be created again. */
MUST_USE enum err store_delete_tombstone(struct store *s, const struct uuid *author);

/* Deletes a video with its events, and subtracts its gains from the gains of its author by platform
 * (author_days.h). If the author's newest event is among the deleted ones, the author's last_event_id
 * decreases. */
MUST_USE enum err store_remove_video(struct store *s, const struct video *video);

/* Deletes a book. Its videos remain and have no book afterwards. */
MUST_USE enum err store_remove_book(struct store *s, const struct book *book);

/* Counts the videos of a book, posted or not. */
MUST_USE enum err store_count_book_videos(struct store *s, const struct book *book, int64_t *count);

/* Iterates over the videos of an author and a book (0: any book): finds the first video whose row is greater
 * than `after`. Begin with 0. Returns ERR_NOT_FOUND after the last video. */
MUST_USE enum err store_next_video(struct store *s, int64_t author_row, int64_t book_row, int64_t after,
                                   int64_t *video_row);

#endif
