/* From rows to the records of model.h, in the order of the column lists of queries.h. Texts are borrowed from
 * the row. False: the database is damaged. */
#ifndef VT_STORE_ROWS_H
#define VT_STORE_ROWS_H

#include "base/arena.h"
#include "store/each.h"
#include "store/model.h"

/* How many columns each list has. */
enum { AUTHOR_COLUMNS = 10, KEY_COLUMNS = 9, BOOK_COLUMNS = 7, VIDEO_COLUMNS = 19 };

MUST_USE bool row_author(struct sqlite3_stmt *q, int first, struct author *out);
MUST_USE bool row_key(struct sqlite3_stmt *q, int first, struct api_key *out);
MUST_USE bool row_book(struct sqlite3_stmt *q, int first, struct book *out);
MUST_USE bool row_video(struct sqlite3_stmt *q, int first, struct video *out);
/* Of SQL_SHOWN_VIDEO: row, author_row, baseline
 * and baseline_pending are not read. */
MUST_USE bool row_shown_video(struct sqlite3_value **row, struct video *out);
/* Of a column; p == NULL: not known. */
MUST_USE bool row_recent(struct str packed, struct recent_days *out);
struct day_gain row_day(struct sqlite3_stmt *q); /* of QUERY_DAYS */
MUST_USE bool row_book_ref(struct sqlite3_stmt *q, int first, struct book_ref *out);
/* Of SQL_EVENT; leaves author_row alone: who asks knows it. */
MUST_USE bool row_event(struct sqlite3_value **row, struct event *out);

/* A copy of the text; p == NULL stays so. */
struct str row_keep(struct arena *a, struct str s);

#endif
