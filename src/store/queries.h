/* The prepared SQL statements of both engines. A statement is constant text, to which values are bound.
 * (The other statements of an engine are in src/store/sqlite or src/store/pg.)
 *
 * A unit test checks the query plan of each statement and fails on a full scan or a sort that it does not
 * list as an exception. INDEXED BY pins the plan where two indexes are possible, so that the plan does not
 * depend on statistics; a missing index is then an error at open. CROSS JOIN fixes the order of a join. Lists
 * are keyset pages: `(posted_at, uuid) <
 * (?, ?)` is one bound of the index range. SQLite uses a partial index WHERE column IS NOT NULL only if the
 * statement contains the same condition, or compares the column itself rather than a row value that contains
 * it. A unary plus before a column prevents the use of an index for this column.
 *
 * The statements for PostgreSQL are derived from the same texts (pg/pg_translate.h), so write the form that
 * both databases accept: coalesce(), ON CONFLICT, IS DISTINCT FROM, FILTER, `flag = 1` instead of `flag`,
 * qualified columns in DO UPDATE, and a cast where PostgreSQL would infer another type than bigint for a
 * parameter. */
#ifndef VT_STORE_QUERIES_H
#define VT_STORE_QUERIES_H

#include "store/app_queries.h"
#include "store/archive_queries.h"
#include "store/audit_queries.h"
#include "store/author_queries.h"
#include "store/erase_queries.h"
#include "store/move_queries.h"
#include "store/platform_queries.h"
#include "store/refresh_queries.h"
#include "store/video_queries.h"
#include "store/webhook_queries.h"

/* --- transactions --- */

#define SQL_BEGIN_READ "BEGIN"
#define SQL_BEGIN      "BEGIN IMMEDIATE"
#define SQL_COMMIT     "COMMIT"
#define SQL_ROLLBACK   "ROLLBACK"

#define STORE_QUERIES(X)                                                                                     \
    X(BEGIN_READ, SQL_BEGIN_READ)                                                                            \
    X(BEGIN_WRITE, SQL_BEGIN)                                                                                \
    X(COMMIT, SQL_COMMIT)                                                                                    \
    X(ROLLBACK, SQL_ROLLBACK)                                                                                \
    X(STORE_ID, "SELECT value FROM meta WHERE key = 'store_id'")                                             \
    X(NEW_STORE_ID, "UPDATE meta SET value = randomblob(16) WHERE key = 'store_id'")                         \
    X(META, "SELECT value FROM meta WHERE key = ?1")                                                         \
    X(META_PUT, "INSERT INTO meta (key, value) VALUES (?1, ?2) "                                             \
                "ON CONFLICT (key) DO UPDATE SET value = excluded.value")                                    \
    X(LAST_EVENT_ID, "SELECT value FROM meta WHERE key = 'last_event_id'")                                   \
    X(SET_LAST_EVENT_ID, "UPDATE meta SET value = ?1 WHERE key = 'last_event_id'")                           \
    STORE_AUTHOR_QUERIES(X)                                                                                  \
    STORE_VIDEO_QUERIES(X)                                                                                   \
    STORE_REFRESH_QUERIES(X)                                                                                 \
    STORE_APP_QUERIES(X)                                                                                     \
    STORE_WEBHOOK_QUERIES(X)                                                                                 \
    STORE_ERASE_QUERIES(X)                                                                                   \
    STORE_ARCHIVE_QUERIES(X)                                                                                 \
    STORE_AUDIT_QUERIES(X)                                                                                   \
    STORE_PLATFORM_QUERIES(X)                                                                                \
    STORE_MOVE_QUERIES(X)

#define STORE_QUERY_ENUM(name, sql) QUERY_##name,
enum query { STORE_QUERIES(STORE_QUERY_ENUM) QUERY_COUNT };
#undef STORE_QUERY_ENUM

/* The first statement that sql_prepare_rare() prepares; it also prepares all statements after this one. */
#define QUERY_FIRST_RARE QUERY_MOVE_LAST_ID

#endif
