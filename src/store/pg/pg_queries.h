/* How the statements of queries.h differ on PostgreSQL. Statements without a line here only need the
 * translation of pg_translate.h. */
#ifndef VT_STORE_PG_PG_QUERIES_H
#define VT_STORE_PG_PG_QUERIES_H

#include "store/queries.h"

/* Other texts, in the form of queries.h. PostgreSQL numbers authors and keys by a sequence, which never
 * issues an id twice, and has no column `recent`. */
#define PG_OTHER_TEXTS(X)                                                                                    \
    X(STORE_ID, "SELECT id FROM store")                                                                      \
    X(NEW_STORE_ID, "UPDATE store SET id = uuid_send(gen_random_uuid())")                                    \
    X(AUTHOR_INSERT, SQL_AUTHOR_INSERT("", ""))                                                              \
    X(KEY_INSERT, SQL_KEY_INSERT("", ""))                                                                    \
    X(VIDEO_INSERT, SQL_VIDEO_INSERT("", ""))                                                                \
    X(SAVE_COUNTS, SQL_SAVE_COUNTS(""))                                                                      \
    X(SAVE_COUNTS_VIRAL, SQL_SAVE_COUNTS(SQL_SAVE_VIRAL))                                                    \
    X(VIDEOS_FOUND, "SELECT " SQL_VIDEO ", " SQL_BOOK_REF                                                    \
                    " FROM json_array_elements_text(CAST(CAST(?1 AS text) AS json)) WITH ORDINALITY f (id, " \
                    "n) JOIN videos v ON v.id = CAST(f.id AS bigint) LEFT JOIN books b ON b.id = v.book_id " \
                    "WHERE v.author_id = ?2 AND v.posted_at IS NOT NULL ORDER BY f.n")

/* The inserts whose row id is read (sql_insert()). They get RETURNING id. */
#define PG_RETURNING_ID(X)                                                                                   \
    X(AUTHOR_INSERT)                                                                                         \
    X(KEY_INSERT)                                                                                            \
    X(BOOK_INSERT)                                                                                           \
    X(VIDEO_INSERT)                                                                                          \
    X(RUN_INSERT)                                                                                            \
    X(SPOOL_INSERT)                                                                                          \
    X(APP_INSERT)                                                                                            \
    X(WEBHOOK_INSERT)

/* The statements that PostgreSQL never runs: its engine has its own statements for transactions, and the
 * table `daily` exists only for the previous release (engine.h: has_daily). */
#define PG_NEVER_USED(X)                                                                                     \
    X(BEGIN_READ)                                                                                            \
    X(BEGIN_WRITE)                                                                                           \
    X(COMMIT)                                                                                                \
    X(ROLLBACK)                                                                                              \
    X(GAIN_ADD)                                                                                              \
    X(DAYS)                                                                                                  \
    X(DAY_SET)                                                                                               \
    X(DAY_DELETE)                                                                                            \
    X(ERASE_DAILY)

#endif
