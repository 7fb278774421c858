/* Reads many rows in one round trip: videos for the calls of store_get_video() that follow, and the owners of
 * posts. */
#ifndef VT_STORE_PG_PG_AHEAD_H
#define VT_STORE_PG_PG_AHEAD_H

#include "store/pg/pg_sql.h"
#include "store/write.h"

/* The videos that one statement has read before they are needed. A zeroed struct contains none. */
struct pg_ahead {
    const struct pg_result *videos; /* rows by ascending id; NULL: no videos are loaded */
    bool *taken;                    /* for each row: pg_ahead_take_video() has returned it */
    struct pg_cursor cursor;        /* on `videos` */
};

/* See store_load_videos(). */
MUST_USE enum err pg_ahead_load_videos(struct pg_ahead *ahead, struct pg_sql *db, const int64_t *video_rows,
                                       size_t needed, size_t count);

/* Returns a statement that is positioned on the row of the video, valid until the next call. Returns NULL if
 * the video was not loaded, or if an earlier call has returned it, because the caller may have changed the
 * video since. */
struct sql_statement *pg_ahead_take_video(struct pg_ahead *ahead, int64_t video_row);

/* Frees the loaded videos. */
void pg_ahead_clear(struct pg_ahead *ahead);

/* See store_find_posts(). */
MUST_USE enum err pg_ahead_find_posts(struct pg_sql *db, const struct post_key *keys, size_t count,
                                      struct post_owner *out);

#endif
