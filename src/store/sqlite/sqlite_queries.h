/* Statements that only SQLite needs. They run rarely, so they are not prepared. */
#ifndef VT_STORE_SQLITE_QUERIES_H
#define VT_STORE_SQLITE_QUERIES_H

/* --- opening a database --- */

#define SQL_APPLICATION_ID "PRAGMA application_id"
#define SQL_USER_VERSION   "PRAGMA user_version"
#define SQL_COUNT_SCHEMA   "SELECT count(*) FROM sqlite_schema"
#define SQL_COMPATIBLE_SINCE                                                                                 \
    "SELECT ifnull((SELECT value FROM meta WHERE key = 'compatible_since' AND typeof(value) = 'integer'), "  \
    "0)"
#define SQL_SET_COMPATIBLE_SINCE                                                                             \
    "INSERT INTO meta (key, value) VALUES ('compatible_since', ?1) "                                         \
    "ON CONFLICT (key) DO UPDATE SET value = excluded.value"
#define SQL_COUNT_VIDEOS   "SELECT CAST(total(videos_count) AS INTEGER) FROM authors"
#define SQL_DAYS_FILLED_TO "SELECT ifnull((SELECT value FROM meta WHERE key = 'days_filled_to'), 0)"
#define SQL_WAL            "PRAGMA journal_mode = WAL"
/* synchronous = FULL: the log is synced before a commit becomes visible to any connection.
 *
 * wal_autocheckpoint = 16000 pages (about 63 MiB): an import changes the same pages many times, and with
 * SQLite's default of 1,000 pages it spends half of its time on checkpoints. In a server, jobs make
 * checkpoints earlier (checkpoint.h).
 *
 * journal_size_limit = 64 MiB: the maximum size of the log file after a checkpoint.
 *
 * secure_delete = FAST: overwrites the old content of changed rows within their page, so that erasing an
 * author (erase.h) leaves no earlier version of a row.
 *
 * cache_size = 32 MiB of pages per connection. */
#define SQL_SETUP                                                                                            \
    "PRAGMA synchronous = FULL;"                                                                             \
    "PRAGMA foreign_keys = ON;"                                                                              \
    "PRAGMA temp_store = MEMORY;"                                                                            \
    "PRAGMA cell_size_check = ON;"                                                                           \
    "PRAGMA secure_delete = FAST;"                                                                           \
    "PRAGMA cache_size = -32768;"                                                                            \
    "PRAGMA wal_autocheckpoint = 16000;"                                                                     \
    "PRAGMA journal_size_limit = 67108864;"
#define SQL_QUERY_ONLY "PRAGMA query_only = ON"

/* --- backup and restore --- */

#define SQL_DELETE_SIGN_INS                                                                                  \
    "DELETE FROM main.sessions; DELETE FROM main.devices; DELETE FROM main.invitations; "                    \
    "DELETE FROM main.platform_links; DELETE FROM main.oauth_codes WHERE used_at IS NULL; DELETE FROM "      \
    "main.webhook_requests; "                                                                                \
    "DELETE FROM main.meta WHERE key IN ('expiry_ahead_wall', 'expiry_ahead_for')"
/* The database that a restore replaces (carry.c). */
#define SQL_REPLACED_APPLICATION_ID "PRAGMA replaced.application_id"
#define SQL_REPLACED_VERSION        "PRAGMA replaced.user_version"
#define SQL_REPLACED_INTEGRITY      "PRAGMA replaced.integrity_check(1)"
#define SQL_DETACH_REPLACED         "DETACH DATABASE replaced"
#define SQL_CARRY_TOMBSTONES                                                                                 \
    "INSERT OR IGNORE INTO main.erased_authors (hash, erased_at) SELECT r.hash, r.erased_at FROM "           \
    "temp.r_erased AS r"
/* Record the id of the database `main` or of the replaced one as that of an ancestor, with the time ?1. */
#define SQL_NOTE_ANCESTOR                                                                                    \
    "INSERT OR IGNORE INTO main.meta (key, value) SELECT 'ancestor:' || hex(value), ?1 FROM main.meta "      \
    "WHERE key = 'store_id'"
#define SQL_NOTE_REPLACED_ANCESTOR                                                                           \
    "INSERT OR IGNORE INTO main.meta (key, value) SELECT 'ancestor:' || hex(value), ?1 FROM temp.r_meta "    \
    "WHERE key = 'store_id'"
#define SQL_INTEGRITY   "PRAGMA integrity_check(1)"
#define SQL_QUICK_CHECK "PRAGMA quick_check(1)"
/* Leaving WAL mode needs exclusive access. */
#define SQL_LEAVE_WAL "PRAGMA journal_mode = DELETE"

/* Each statement counts the rows that break a rule of the schema. */
#define STORE_SUMS(X)                                                                                        \
    X("the views of a video equal its baseline plus the sum of its daily gains",                             \
      "SELECT count(*) FROM videos v WHERE v.views <> v.baseline + "                                         \
      "(SELECT ifnull(sum(d.gained), 0) FROM daily d WHERE d.video_id = v.id)")                              \
    X("the running total of a day equals the sum of the gains up to and including that day",                 \
      "SELECT count(*) FROM (SELECT gained_total, sum(gained) OVER (PARTITION BY video_id ORDER BY day) "    \
      "AS total FROM daily) WHERE gained_total <> total")                                                    \
    X("the sum of an author's gains by platform is at most the gains of the author's videos on that day",    \
      "SELECT count(*) FROM (SELECT author_id, day, sum(gained) AS split FROM author_daily "                 \
      "GROUP BY author_id, day) p LEFT JOIN (SELECT v.author_id, d.day, sum(d.gained) AS total "             \
      "FROM daily d CROSS JOIN videos v ON v.id = d.video_id GROUP BY v.author_id, d.day UNION ALL "         \
      "SELECT author_id, -2147483648, sum(baseline) FROM videos GROUP BY author_id) t "                      \
      "ON t.author_id = p.author_id AND t.day = p.day WHERE p.split > ifnull(t.total, 0)")                   \
    X("the stored count of a book's videos equals the number of its posted videos",                          \
      "SELECT count(*) FROM books b WHERE b.videos_posted <> "                                               \
      "(SELECT count(*) FROM videos v WHERE v.book_id = b.id AND v.posted_at IS NOT NULL)")                  \
    X("the stored count of an author's videos equals the number of the author's posted videos",              \
      "SELECT count(*) FROM authors a WHERE a.videos_count <> "                                              \
      "(SELECT count(*) FROM videos v WHERE v.author_id = a.id AND v.posted_at IS NOT NULL)")                \
    X("the stored count of an author's books equals the author's number of rows in books",                   \
      "SELECT count(*) FROM authors a WHERE a.books_count <> "                                               \
      "(SELECT count(*) FROM books b WHERE b.author_id = a.id)")                                             \
    X("the stored id of an author's newest event equals the highest id of the author's events",              \
      "SELECT count(*) FROM authors a WHERE a.last_event_id <> "                                             \
      "(SELECT ifnull(max(e.id), 0) FROM events e WHERE e.author_id = a.id)")                                \
    X("the id of an author's newest event is at most the last issued event id",                              \
      "SELECT count(*) FROM authors a WHERE a.last_event_id > "                                              \
      "(SELECT value FROM meta WHERE key = 'last_event_id')")                                                \
    X("every foreign key refers to an existing row", "SELECT count(*) FROM pragma_foreign_key_check")

/* --- erase.h --- */

#define SQL_PREPARE_ERASURE "PRAGMA foreign_keys = OFF; PRAGMA secure_delete = ON"

#endif
