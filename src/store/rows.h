/* Converts result rows to the records of model.h. The columns are those of the SQL_… lists of queries.h,
 * beginning with column `first`. Texts are borrowed from the row. Return false if the row is damaged. */
#ifndef VT_STORE_ROWS_H
#define VT_STORE_ROWS_H

#include "base/arena.h"
#include "store/db.h"
#include "store/model.h"

/* The length of each list. */
enum {
    AUTHOR_COLUMNS = 10,
    KEY_COLUMNS = 9,
    BOOK_COLUMNS = 7,
    VIDEO_COLUMNS = 20,
    VIDEO_REF_COLUMNS = 4,
    EVENT_COLUMNS = 7
};
/* The packed posts within SQL_VIDEO. */
enum { VIDEO_POSTS_COLUMN = 17 };

MUST_USE bool row_author(struct sqlite3_stmt *q, int first, struct author *out);
MUST_USE bool row_key(struct sqlite3_stmt *q, int first, struct api_key *out);
MUST_USE bool row_book(struct sqlite3_stmt *q, int first, struct book *out);
MUST_USE bool row_video(struct sqlite3_stmt *q, int first, struct video *out);
MUST_USE bool row_video_ref(struct sqlite3_stmt *q, int first, struct video_ref *out);
MUST_USE bool row_book_ref(struct sqlite3_stmt *q, int first, struct book_ref *out);
MUST_USE bool row_recent(struct sqlite3_stmt *q, int column, struct recent_days *out); /* NULL: unknown */
struct day_gain row_day(struct sqlite3_stmt *q);                                       /* of QUERY_DAYS */
/* SQL_EVENT does not include author_row. */
MUST_USE bool row_event(struct sqlite3_stmt *q, int first, struct event *out);

/* Copies a text into the arena; NULL stays NULL. */
struct str row_copy(struct arena *a, struct str s);

#endif
