/* Converts result rows to the records of model.h. Each function reads the columns of an SQL_… list of
 * queries.h, beginning with column `first`. Texts are valid until the statement advances to the next row or
 * is reset. The functions return false if the row is damaged. */
#ifndef VT_STORE_ROWS_H
#define VT_STORE_ROWS_H

#include "base/arena.h"
#include "store/db.h"
#include "store/model.h"

/* Number of columns of each list. */
enum {
    AUTHOR_COLUMNS = 10,
    KEY_COLUMNS = 9,
    BOOK_COLUMNS = 7,
    VIDEO_COLUMNS = 20,
    VIDEO_REF_COLUMNS = 4,
    EVENT_COLUMNS = 7
};
/* The index of the packed posts in SQL_VIDEO. */
enum { VIDEO_POSTS_COLUMN = 17 };

MUST_USE bool row_author(struct sqlite3_stmt *q, int first, struct author *out);
MUST_USE bool row_api_key(struct sqlite3_stmt *q, int first, struct api_key *out);
MUST_USE bool row_book(struct sqlite3_stmt *q, int first, struct book *out);
MUST_USE bool row_video(struct sqlite3_stmt *q, int first, struct video *out);
MUST_USE bool row_video_ref(struct sqlite3_stmt *q, int first, struct video_ref *out);
MUST_USE bool row_book_ref(struct sqlite3_stmt *q, int first, struct book_ref *out);
MUST_USE bool row_recent(struct sqlite3_stmt *q, int column,
                         struct recent_days *out); /* a NULL column means that the recent days are unknown */
struct day_gain row_day(struct sqlite3_stmt *q);   /* reads a row of QUERY_DAYS */
/* Does not set out->author_row, which SQL_EVENT does not include. */
MUST_USE bool row_event(struct sqlite3_stmt *q, int first, struct event *out);

/* Copies a text into the arena. If s.p is NULL, the `p` of the result is NULL too. */
struct str row_copy(struct arena *a, struct str s);

#endif
