/* The statements for PostgreSQL that differ from the statements of queries.h. For all other statements, the
 * translation of pg_translate.h is sufficient. */
#ifndef VT_STORE_PG_PG_QUERIES_H
#define VT_STORE_PG_PG_QUERIES_H

#include "store/queries.h"

/* One page of an author's list, with columns of the author in each row. The page is a subselect that contains
 * the LIMIT: otherwise PostgreSQL would read and sort the whole list, because it does not know that there is
 * only one author. If the list shows books, the statement joins them (book_lookup.h). */
#define PG_STATS_SCAN(where)                                                                                 \
    "SELECT " SQL_STATS ", a.rev, v.book_id, " SQL_BOOK_REF " FROM authors a LEFT JOIN (SELECT " SQL_STATS   \
    ", v.book_id FROM videos v WHERE " where                                                                 \
    " AND v.posted_at IS NOT NULL AND (v.posted_at, v.uuid) < (?2, ?3) ORDER BY v.posted_at DESC, v.uuid "   \
    "DESC LIMIT ?4) v ON true LEFT JOIN books b ON b.id = v.book_id WHERE a.id = ?1 ORDER BY v.posted_at "   \
    "DESC, v.uuid DESC"
#define PG_EVENTS_PAGE(compare, order)                                                                       \
    "SELECT " SQL_EVENT ", " SQL_VIDEO_REF ", v.posts, a.last_event_id, v.book_id, " SQL_BOOK_REF            \
    " FROM authors a LEFT JOIN (SELECT " SQL_EVENT " FROM events e WHERE e.author_id = ?1 AND e.id " compare \
    " ?2 ORDER BY e.id " order " LIMIT ?3) e ON true LEFT JOIN videos v ON v.id = e.video_id LEFT JOIN "     \
    "books b ON b.id = v.book_id WHERE a.id = ?1 ORDER BY e.id " order

/* The texts that replace texts of queries.h. They have parameters of the same form, such as ?1. On
 * PostgreSQL, the ids of authors and keys come from sequences, which never issue an id twice, and videos have
 * no column `recent`. */
#define PG_OTHER_TEXTS(X)                                                                                    \
    X(STORE_ID, "SELECT id FROM store")                                                                      \
    X(NEW_STORE_ID, "UPDATE store SET id = uuid_send(gen_random_uuid())")                                    \
    X(AUTHOR_INSERT, SQL_AUTHOR_INSERT("", ""))                                                              \
    X(KEY_INSERT, SQL_KEY_INSERT("", ""))                                                                    \
    X(MOVE_LAST_ID, "SELECT pg_sequence_last_value(CAST(pg_get_serial_sequence(?1, 'id') AS regclass))")     \
    X(MOVE_RESERVE_IDS, "SELECT setval(CAST(pg_get_serial_sequence(?1, 'id') AS regclass), "                 \
                        "CAST(?2 AS bigint)) WHERE CAST(?2 AS bigint) > 0")                                  \
    X(MOVE_STORE_ID, "UPDATE store SET id = ?1")                                                             \
    X(VIDEO_INSERT, SQL_VIDEO_INSERT("", ""))                                                                \
    X(SAVE_COUNTS, SQL_SAVE_COUNTS(""))                                                                      \
    X(SAVE_COUNTS_VIRAL, SQL_SAVE_COUNTS(SQL_SAVE_VIRAL))                                                    \
    X(VIDEOS_FOUND, "SELECT " SQL_VIDEO ", " SQL_BOOK_REF                                                    \
                    " FROM json_array_elements_text(CAST(CAST(?1 AS text) AS json)) WITH ORDINALITY f (id, " \
                    "n) JOIN LATERAL (SELECT " SQL_VIDEO                                                     \
                    " FROM videos v WHERE v.id = CAST(f.id AS bigint) AND v.author_id = ?2 AND v.posted_at " \
                    "IS NOT NULL LIMIT 1) v ON true LEFT JOIN books b ON b.id = v.book_id ORDER BY f.n")     \
    X(BOOKS_PAGE,                                                                                            \
      "SELECT " SQL_BOOK ", a.name, a.rev FROM authors a LEFT JOIN (SELECT " SQL_BOOK                        \
      " FROM books b WHERE b.author_id = ?1 AND (b.created_at, b.uuid) < (?2, ?3) ORDER BY b.created_at "    \
      "DESC, b.uuid DESC LIMIT ?4) b ON true WHERE a.id = ?1 ORDER BY b.created_at DESC, b.uuid DESC")       \
    X(AUTHOR_DAYS,                                                                                           \
      "SELECT d.day, d.platform, d.gained, a.rev FROM authors a LEFT JOIN (SELECT d.day, d.platform, "       \
      "d.gained FROM author_daily d WHERE d.author_id = ?1 AND (d.day, d.platform) > (?2, ?3) AND d.day "    \
      "<= ?4 ORDER BY d.day, d.platform LIMIT ?5) d ON true WHERE a.id = ?1 ORDER BY d.day, d.platform")     \
    X(STATS_SCAN, PG_STATS_SCAN("v.author_id = ?1"))                                                         \
    X(STATS_SCAN_BOOK, PG_STATS_SCAN("v.book_id = ?5"))                                                      \
    X(EVENTS_ASCENDING, PG_EVENTS_PAGE(">", "ASC"))                                                          \
    X(EVENTS_DESCENDING, PG_EVENTS_PAGE("<", "DESC"))

/* The reads of pg_heads.h. The last column of PG_KEY_OWNERS is the position of the key in the array. */
#define PG_KEY_OWNERS                                                                                        \
    "SELECT " SQL_KEY_OWNER ", h.n FROM unnest($1::bytea[]) WITH ORDINALITY h (hash, n) "                    \
    "JOIN api_keys k ON k.hash = h.hash JOIN authors a ON a.id = k.author_id"
#define PG_HEADS "SELECT id, rev, feed_rev FROM authors WHERE id = ANY ($1::bigint[])"

/* The reads of pg_ahead.h. */
#define PG_VIDEOS_BY_ROWS "SELECT " SQL_VIDEO " FROM videos v WHERE v.id = ANY ($1::bigint[]) ORDER BY v.id"
#define PG_POST_OWNERS                                                                                       \
    "SELECT k.n, p.video_id, v.author_id FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY k "           \
    "(platform, "                                                                                            \
    "post_id, n) JOIN post_keys p ON p.platform = k.platform AND p.post_id = k.post_id "                     \
    "JOIN videos v ON v.id = p.video_id"

/* The statements that PostgreSQL never runs: its engine has its own statements for transactions, and the
 * table `daily` exists only on SQLite, for the previous release (engine.h: has_daily). */
#define PG_NEVER_USED(X)                                                                                     \
    X(BEGIN_READ)                                                                                            \
    X(BEGIN_WRITE)                                                                                           \
    X(COMMIT)                                                                                                \
    X(ROLLBACK)                                                                                              \
    X(GAIN_ADD)                                                                                              \
    X(DAY_INSERT)                                                                                            \
    X(DAYS)                                                                                                  \
    X(DAY_SET)                                                                                               \
    X(DAY_DELETE)                                                                                            \
    X(ERASE_DAILY)

#endif
