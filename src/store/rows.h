/* Converts result rows to the records of model.h. Each function reads the columns of an SQL_… list of
 * queries.h, beginning with column `first`. Texts are valid until the statement advances to the next row or
 * is reset. The functions return false if the row is damaged. */
#ifndef VT_STORE_ROWS_H
#define VT_STORE_ROWS_H

#include "base/arena.h"
#include "store/sql.h"
#include "store/read.h"

/* The number of columns in each SQL_… list. */
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

MUST_USE bool row_to_author(struct sql_statement *q, int first, struct author *out);
MUST_USE bool row_to_api_key(struct sql_statement *q, int first, struct api_key *out);
/* Reads a row of QUERY_KEY_OWNER. Sets `incarnation` and `version` to 0. */
MUST_USE bool row_to_key_owner(struct sql_statement *q, struct key_owner *out);
MUST_USE bool row_to_book(struct sql_statement *q, int first, struct book *out);
MUST_USE bool row_to_video(struct sql_statement *q, int first, struct video *out);
MUST_USE bool row_to_video_ref(struct sql_statement *q, int first, struct video_ref *out);
MUST_USE bool row_to_book_ref(struct sql_statement *q, int first, struct book_ref *out);
struct day_gain row_to_day_gain(struct sql_statement *q); /* reads a row of QUERY_DAYS */
/* Sets all members of the event except out->author_row, because SQL_EVENT does not include it. */
MUST_USE bool row_to_event(struct sql_statement *q, int first, struct event *out);

/* Copies a text into the arena. If s.p is NULL, the `p` of the result is NULL too. */
struct str row_copy_text(struct arena *a, struct str s);

#endif
