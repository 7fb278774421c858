/* Every SQL statement except the migrations. A statement is constant text, to which values are bound.
 *
 * A unit test checks the query plan of each statement and fails on a full scan or a sort. INDEXED BY pins the
 * plan where two indexes are possible, so that the plan does not depend on statistics; a missing index is
 * then an error at open. CROSS JOIN fixes the order of a join. Lists are keyset pages: `(posted_at, uuid) <
 * (?, ?)` is one bound of the index range. SQLite uses a partial index only if the statement says IS NOT NULL
 * or compares only that column. */
#ifndef VT_STORE_QUERIES_H
#define VT_STORE_QUERIES_H

/* --- opening a database --- */

#define SQL_APPLICATION_ID "PRAGMA application_id"
#define SQL_USER_VERSION   "PRAGMA user_version"
#define SQL_COUNT_SCHEMA   "SELECT count(*) FROM sqlite_schema"
#define SQL_WAL            "PRAGMA journal_mode = WAL"
/* synchronous = FULL: the log is synced before a commit becomes visible to any connection.
 *
 * wal_autocheckpoint = 16000 pages (64 MiB, also the maximum size of the log file after a checkpoint): an
 * import changes the same pages many times, and with SQLite's default of 1,000 pages it spends half of its
 * time on checkpoints. In a server, jobs make checkpoints earlier (checkpoint.h).
 *
 * cache_size = 32 MiB of pages per connection. */
#define SQL_SETUP                                                                                            \
    "PRAGMA synchronous = FULL;"                                                                             \
    "PRAGMA foreign_keys = ON;"                                                                              \
    "PRAGMA temp_store = MEMORY;"                                                                            \
    "PRAGMA cell_size_check = ON;"                                                                           \
    "PRAGMA cache_size = -32768;"                                                                            \
    "PRAGMA wal_autocheckpoint = 16000;"                                                                     \
    "PRAGMA journal_size_limit = 67108864;"
#define SQL_QUERY_ONLY "PRAGMA query_only = ON"

/* --- backup and restore: on their own connections, not prepared --- */

#define SQL_DELETE_SIGN_INS                                                                                  \
    "DELETE FROM main.sessions; DELETE FROM main.devices; DELETE FROM main.invitations; "                    \
    "DELETE FROM main.platform_links; DELETE FROM main.oauth_codes WHERE used_at IS NULL; "                  \
    "DELETE FROM main.meta WHERE key IN ('expiry_ahead_wall', 'expiry_ahead_for')"
/* The database that a restore replaces (carry.c). */
#define SQL_REPLACED_APPLICATION_ID "PRAGMA replaced.application_id"
#define SQL_REPLACED_VERSION        "PRAGMA replaced.user_version"
#define SQL_REPLACED_INTEGRITY      "PRAGMA replaced.integrity_check(1)"
#define SQL_DETACH_REPLACED         "DETACH DATABASE replaced"
#define SQL_NOTE_ANCESTOR                                                                                    \
    "INSERT OR IGNORE INTO main.meta (key, value) SELECT 'ancestor:' || hex(value), 1 FROM main.meta "       \
    "WHERE key = 'store_id'"
#define SQL_INTEGRITY "PRAGMA integrity_check(1)"
/* Leaving WAL mode needs exclusive access. */
#define SQL_LEAVE_WAL "PRAGMA journal_mode = DELETE"

/* --- transactions --- */

#define SQL_BEGIN_READ "BEGIN"
#define SQL_BEGIN      "BEGIN IMMEDIATE"
#define SQL_COMMIT     "COMMIT"
#define SQL_ROLLBACK   "ROLLBACK"

/* --- column lists: the order that the functions of rows.c read --- */

#define SQL_AUTHOR                                                                                           \
    "a.id, a.uuid, a.name, a.plan_active, a.created_at, a.rev, a.last_event_id, a.books_count, "             \
    "a.videos_count, a.views_refreshed_at"
#define SQL_KEY                                                                                              \
    "k.id, k.author_id, k.uuid, k.name, k.suffix, k.created_at, k.last_used_at, k.revoked_at, k.app_id"
#define SQL_APP         "p.id, p.client_id, p.name, p.home_url, p.secret_hash, p.created_at, p.removed_at"
#define SQL_BOOK        "b.id, b.author_id, b.uuid, b.title, b.subtitle, b.created_at, b.videos_posted"
#define SQL_KEY_AND_APP SQL_KEY ", p.name, p.home_url"
#define SQL_VIDEO                                                                                            \
    "v.id, v.author_id, v.book_id, v.uuid, v.title, v.thumbnail_url, v.posted_at, v.views, v.baseline, "     \
    "v.first_reading_at, v.views_updated_at, v.went_viral_at, v.views_when_viral, v.threshold, "             \
    "v.author_median_views, v.compared_videos, v.baseline_pending, v.posts, v.milestones, v.recent"
#define SQL_VIDEO_REF  "v.uuid, v.title, v.thumbnail_url, v.posted_at"
#define SQL_BOOK_REF   "b.uuid, b.title"
#define SQL_EVENT      "e.id, e.type, e.occurred_at, e.value, e.threshold, e.author_median_views, e.video_id"
#define SQL_SPOOL_FILE "id, name, size, inode, modified_ns, applied_at, step_at, step_author"

#define SQL_CREDENTIAL                                                                                       \
    "id, author_id, api, account_id, account_name, scopes, access_sealed, refresh_sealed, "                  \
    "access_expires_at, refresh_expires_at, obtained_at, state, version, refresh_sent_at, failures, "        \
    "last_error, last_error_at, last_ok_at, tier, dropped, tier_until, is_personal"
#define SQL_PLATFORM_POST                                                                                    \
    "platform, post_id, resolved_id, credential_id, views_source, misses, missed_since, is_permanent, "      \
    "requested_at"

/* --- sign-in --- */

#define SQL_VIEWER "a.id, a.uuid, a.name, a.plan_active, l.name, l.password"

/* --- fragments that several statements share --- */

#define SQL_VIDEOS_PAGE(index, where)                                                                        \
    "SELECT " SQL_VIDEO ", " SQL_BOOK_REF " FROM videos v INDEXED BY " index                                 \
    " LEFT JOIN books b ON b.id = v.book_id WHERE " where                                                    \
    " AND v.posted_at >= ?2 AND (v.posted_at, v.uuid) < (?3, ?4)"                                            \
    " ORDER BY v.posted_at DESC, v.uuid DESC LIMIT ?5"

#define SQL_STATS_SCAN(index, where)                                                                         \
    "SELECT v.posted_at, v.uuid, v.id, v.first_reading_at, v.views_updated_at, v.recent, v.baseline, "       \
    "v.went_viral_at, v.title, v.book_id FROM videos v INDEXED BY " index " WHERE " where                    \
    " AND v.posted_at IS NOT NULL AND (v.posted_at, v.uuid) < (?2, ?3)"                                      \
    " ORDER BY v.posted_at DESC, v.uuid DESC"

/* LEFT JOIN also fixes the order of the loops. An event whose video is missing has NULLs, which
 * row_video_ref() rejects. */
#define SQL_EVENTS_PAGE(compare, order)                                                                      \
    "SELECT " SQL_EVENT ", " SQL_VIDEO_REF ", v.book_id FROM events e "                                      \
    "LEFT JOIN videos v INDEXED BY videos_in_events ON v.author_id = e.author_id AND v.id = e.video_id "     \
    "WHERE e.author_id = ?1 AND e.id " compare " ?2 ORDER BY e.id " order

/* The videos of an author have consecutive ids, no matter when they were inserted, so that a list of them
 * reads few pages of the database. Each author has room for 16 million videos. */
#define SQL_NEXT_VIDEO                                                                                       \
    "1 + ifnull((SELECT id FROM videos WHERE id BETWEEN ?2 << 24 AND (?2 << 24) + 16777214 "                 \
    "ORDER BY id DESC LIMIT 1), ?2 << 24)"

/* Deletes at most 100 codes at a time. Each new code deletes more than one, so old codes do not accumulate.
 */
#define SQL_CODES_PURGE(index, which)                                                                        \
    "DELETE FROM oauth_codes WHERE hash IN (SELECT hash FROM oauth_codes INDEXED BY " index " WHERE " which  \
    " AND created_at < ?1 ORDER BY created_at LIMIT 100)"

/* Writes no indexed column except those of videos_in_stats, so that a reading changes one row and one index.
 */
#define SQL_SAVE_COUNTS(more)                                                                                \
    "UPDATE videos SET views = ?2, baseline = ?3, views_updated_at = ?4, threshold = ?5, "                   \
    "author_median_views = ?6, compared_videos = ?7, posts = ?8, milestones = ?9, recent = ?10" more         \
    " WHERE id = ?1"

/* --- the statements --- */

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
                                                                                                             \
    /* authors */                                                                                            \
    X(AUTHOR_BY_UUID, "SELECT " SQL_AUTHOR " FROM authors a WHERE a.uuid = ?1")                              \
    X(AUTHOR_BY_ROW, "SELECT " SQL_AUTHOR " FROM authors a WHERE a.id = ?1")                                 \
    X(AUTHORS, "SELECT " SQL_AUTHOR " FROM authors a ORDER BY a.created_at, a.uuid")                         \
    X(AUTHOR_HEAD, "SELECT rev, last_event_id FROM authors WHERE id = ?1")                                   \
    X(AUTHOR_INSERT, "INSERT INTO authors (uuid, name, plan_active, created_at) VALUES (?1, ?2, ?3, ?4)")    \
    X(AUTHOR_UPDATE, "UPDATE authors SET name = ?2, plan_active = ?3, rev = rev + 1 WHERE id = ?1")          \
    X(AUTHOR_TOUCH, "UPDATE authors SET rev = rev + 1, views_refreshed_at = "                                \
                    "CASE WHEN ?2 > ifnull(views_refreshed_at, -1) THEN ?2 ELSE views_refreshed_at END "     \
                    "WHERE id = ?1")                                                                         \
    X(AUTHOR_SET_LAST_EVENT_ID,                                                                              \
      "UPDATE authors SET last_event_id = ?2, feed_rev = feed_rev + 1 WHERE id = ?1")                        \
                                                                                                             \
    /* API keys */                                                                                           \
    X(KEY_OWNER, "SELECT k.id, k.author_id, k.uuid, k.revoked_at, k.last_used_at, a.uuid, a.plan_active, "   \
                 "a.rev, a.feed_rev, a.last_event_id FROM api_keys k "                                       \
                 "CROSS JOIN authors a ON a.id = k.author_id WHERE k.hash = ?1")                             \
    X(ACCOUNT, "SELECT " SQL_AUTHOR ", " SQL_KEY                                                             \
               " FROM api_keys k CROSS JOIN authors a ON a.id = k.author_id WHERE k.id = ?1")                \
    X(KEY_BY_UUID, "SELECT " SQL_KEY " FROM api_keys k WHERE k.uuid = ?1")                                   \
    X(KEYS, "SELECT " SQL_KEY " FROM api_keys k WHERE k.author_id = ?1 ORDER BY k.created_at, k.id")         \
    X(KEY_BY_HASH, "SELECT " SQL_KEY " FROM api_keys k WHERE k.hash = ?1")                                   \
    X(KEY_INSERT, "INSERT INTO api_keys (uuid, author_id, hash, name, suffix, created_at, app_id) "          \
                  "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")                                                     \
    X(KEY_REVOKE, "UPDATE api_keys SET revoked_at = ifnull(revoked_at, ?2) WHERE id = ?1")                   \
    X(KEY_SET_USED, "UPDATE api_keys SET last_used_at = ?2 WHERE id = ?1 AND ifnull(last_used_at, -1) < ?2") \
                                                                                                             \
    /* an author's own keys: live, revoked */                                                                \
    X(KEYS_LIVE, "SELECT " SQL_KEY_AND_APP " FROM api_keys k INDEXED BY api_keys_live "                      \
                 "LEFT JOIN apps p ON p.id = k.app_id WHERE k.author_id = ?1 AND k.revoked_at IS NULL "      \
                 "ORDER BY k.created_at DESC, k.id DESC LIMIT ?2")                                           \
    X(KEYS_REVOKED, "SELECT " SQL_KEY_AND_APP " FROM api_keys k INDEXED BY api_keys_by_author "              \
                    "LEFT JOIN apps p ON p.id = k.app_id WHERE k.author_id = ?1 "                            \
                    "AND k.revoked_at IS NOT NULL ORDER BY k.created_at DESC, k.id DESC LIMIT ?2")           \
    X(KEY_OF_AUTHOR, "SELECT " SQL_KEY_AND_APP " FROM api_keys k LEFT JOIN apps p ON p.id = k.app_id "       \
                     "WHERE k.uuid = ?1 AND k.author_id = ?2")                                               \
    X(KEYS_COUNT, "SELECT count(*) FROM api_keys INDEXED BY api_keys_live "                                  \
                  "WHERE author_id = ?1 AND revoked_at IS NULL AND (?2 = 0 OR app_id IS NOT ?2)")            \
    X(KEYS_COUNT_CREATED, "SELECT count(*) FROM api_keys INDEXED BY api_keys_by_author "                     \
                          "WHERE author_id = ?1 AND created_at >= ?2 AND created_at < ?3")                   \
                                                                                                             \
    /* sign-in */                                                                                            \
    X(LOGIN_BY_NAME, "SELECT " SQL_VIEWER " FROM logins l CROSS JOIN authors a ON a.id = l.author_id "       \
                     "WHERE l.name = ?1")                                                                    \
    X(LOGIN_BY_AUTHOR, "SELECT " SQL_VIEWER " FROM authors a LEFT JOIN logins l ON l.author_id = a.id "      \
                       "WHERE a.id = ?1")                                                                    \
    X(LOGIN_BY_UUID, "SELECT " SQL_VIEWER " FROM authors a LEFT JOIN logins l ON l.author_id = a.id "        \
                     "WHERE a.uuid = ?1")                                                                    \
    X(LOGIN_PUT, "INSERT INTO logins (author_id, name, password, password_set_at) VALUES (?1, ?2, ?3, ?4) "  \
                 "ON CONFLICT (author_id) DO UPDATE SET name = excluded.name, "                              \
                 "password = excluded.password, password_set_at = excluded.password_set_at")                 \
    X(LOGIN_SET_PASSWORD, "UPDATE logins SET password = ?2, password_set_at = ifnull(?3, password_set_at) "  \
                          "WHERE author_id = ?1")                                                            \
    X(LOGIN_SET_NAME, "INSERT INTO logins (author_id, name) VALUES (?1, ?2) "                                \
                      "ON CONFLICT (author_id) DO UPDATE SET name = excluded.name")                          \
    X(SESSION, "SELECT " SQL_VIEWER ", s.created_at, s.seen_at, s.expires_at FROM sessions s "               \
               "CROSS JOIN authors a ON a.id = s.author_id LEFT JOIN logins l ON l.author_id = a.id "        \
               "WHERE s.hash = ?1")                                                                          \
    X(SESSION_INSERT, "INSERT INTO sessions (hash, author_id, created_at, seen_at, expires_at) "             \
                      "VALUES (?1, ?2, ?3, ?3, ?4)")                                                         \
    X(SESSION_TOUCH, "UPDATE sessions SET seen_at = ?2 WHERE hash = ?1 AND seen_at < ?2")                    \
    X(SESSION_DELETE, "DELETE FROM sessions WHERE hash = ?1")                                                \
    X(SESSIONS_DELETE_AUTHOR, "DELETE FROM sessions WHERE author_id = ?1")                                   \
    X(DEVICE, "SELECT author_id FROM devices WHERE hash = ?1 AND expires_at > ?2")                           \
    X(DEVICE_INSERT,                                                                                         \
      "INSERT INTO devices (hash, author_id, created_at, expires_at) VALUES (?1, ?2, ?3, ?4)")               \
    X(DEVICE_DELETE, "DELETE FROM devices WHERE hash = ?1 AND author_id = ?2")                               \
    X(DEVICES_DELETE_AUTHOR, "DELETE FROM devices WHERE author_id = ?1")                                     \
    X(DEVICES_PURGE, "DELETE FROM devices WHERE expires_at <= ?1")                                           \
    X(DEVICES_DELETE_OLDEST,                                                                                 \
      "DELETE FROM devices WHERE author_id = ?1 AND hash NOT IN (SELECT hash FROM devices "                  \
      "WHERE author_id = ?1 ORDER BY created_at DESC, hash DESC LIMIT ?2)")                                  \
    X(SESSIONS_PURGE, "DELETE FROM sessions WHERE expires_at <= ?1")                                         \
    X(INVITATION, "SELECT " SQL_VIEWER ", i.login, i.expires_at, i.used_at FROM invitations i "              \
                  "CROSS JOIN authors a ON a.id = i.author_id LEFT JOIN logins l ON l.author_id = a.id "     \
                  "WHERE i.hash = ?1")                                                                       \
    X(INVITATION_INSERT, "INSERT INTO invitations (hash, author_id, login, created_at, expires_at) "         \
                         "VALUES (?1, ?2, ?3, ?4, ?5)")                                                      \
    X(INVITATION_USE, "UPDATE invitations SET used_at = ?2 WHERE hash = ?1 AND used_at IS NULL "             \
                      "AND expires_at > ?2")                                                                 \
    X(INVITATIONS_DELETE_AUTHOR, "DELETE FROM invitations WHERE author_id = ?1")                             \
                                                                                                             \
    /* books */                                                                                              \
    X(BOOK_BY_UUID, "SELECT " SQL_BOOK " FROM books b WHERE b.uuid = ?1")                                    \
    X(BOOK_REF, "SELECT " SQL_BOOK_REF " FROM books b WHERE b.id = ?1")                                      \
    X(BOOK_OF_AUTHOR, "SELECT id FROM books WHERE uuid = ?1 AND author_id = ?2")                             \
    X(BOOKS_PAGE, "SELECT " SQL_BOOK ", a.name FROM books b INDEXED BY books_by_author "                     \
                  "CROSS JOIN authors a ON a.id = b.author_id "                                              \
                  "WHERE b.author_id = ?1 AND (b.created_at, b.uuid) < (?2, ?3) "                            \
                  "ORDER BY b.created_at DESC, b.uuid DESC LIMIT ?4")                                        \
    X(BOOK_INSERT, "INSERT INTO books (uuid, author_id, title, subtitle, created_at) "                       \
                   "VALUES (?1, ?2, ?3, ?4, ?5)")                                                            \
    X(BOOK_UPDATE, "UPDATE books SET title = ?2, subtitle = ?3, created_at = ?4 WHERE id = ?1")              \
                                                                                                             \
    /* videos */                                                                                             \
    X(VIDEO_BY_UUID, "SELECT " SQL_VIDEO " FROM videos v WHERE v.uuid = ?1")                                 \
    X(VIDEO_BY_ROW, "SELECT " SQL_VIDEO " FROM videos v WHERE v.id = ?1")                                    \
    X(VIDEO_OF_AUTHOR,                                                                                       \
      "SELECT " SQL_VIDEO ", " SQL_BOOK_REF " FROM videos v LEFT JOIN books b ON b.id = v.book_id "          \
      "WHERE v.uuid = ?1 AND v.author_id = ?2 AND v.posted_at IS NOT NULL")                                  \
    X(VIDEOS_PAGE, SQL_VIDEOS_PAGE("videos_by_author", "v.author_id = ?1"))                                  \
    X(VIDEOS_PAGE_VIRAL, SQL_VIDEOS_PAGE("videos_by_viral", "v.author_id = ?1 AND v.is_viral = ?6"))         \
    X(VIDEOS_PAGE_BOOK, SQL_VIDEOS_PAGE("videos_by_book", "v.book_id = ?1"))                                 \
    X(VIDEOS_PAGE_BOOK_VIRAL, SQL_VIDEOS_PAGE("videos_by_book_viral", "v.book_id = ?1 AND v.is_viral = ?6")) \
    X(VIDEO_INSERT, "INSERT INTO videos (id, uuid, author_id, book_id, posted_at, threshold, "               \
                    "author_median_views, compared_videos, title, thumbnail_url, posts, recent) "            \
                    "VALUES (" SQL_NEXT_VIDEO ", ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, x'')")             \
    X(VIDEO_UPDATE, "UPDATE videos SET book_id = ?2, posted_at = ?3, title = ?4, thumbnail_url = ?5, "       \
                    "posts = ?6 WHERE id = ?1")                                                              \
    X(SAVE_COUNTS, SQL_SAVE_COUNTS(""))                                                                      \
    X(SAVE_COUNTS_VIRAL, SQL_SAVE_COUNTS(", went_viral_at = ?11, views_when_viral = ?12"))                   \
    X(SAVE_FIRST_READING, "UPDATE videos SET first_reading_at = ?2, baseline_pending = ?3 "                  \
                          "WHERE id = ?1 AND (first_reading_at IS NOT ?2 OR baseline_pending <> ?3)")        \
    X(COMPARABLES, "SELECT id, views FROM videos INDEXED BY videos_comparable "                              \
                   "WHERE author_id = ?1 AND posted_at <= ?2 AND first_reading_at IS NOT NULL "              \
                   "ORDER BY posted_at DESC, uuid DESC LIMIT ?3")                                            \
    X(PENDING, "SELECT author_id, id FROM videos INDEXED BY videos_pending WHERE baseline_pending = 1 "      \
               "ORDER BY author_id LIMIT ?1")                                                                \
                                                                                                             \
    /* posts */                                                                                              \
    X(POST_OWNER,                                                                                            \
      "SELECT p.video_id, v.author_id FROM post_keys p CROSS JOIN videos v ON v.id = p.video_id "            \
      "WHERE p.platform = ?1 AND p.post_id = ?2")                                                            \
    X(POST_KEY_PUT, "INSERT INTO post_keys (platform, post_id, video_id) VALUES (?1, ?2, ?3) "               \
                    "ON CONFLICT (platform, post_id) DO UPDATE SET video_id = excluded.video_id "            \
                    "WHERE video_id = excluded.video_id")                                                    \
    X(POST_KEY_DELETE, "DELETE FROM post_keys WHERE platform = ?1 AND post_id = ?2")                         \
                                                                                                             \
    /* days */                                                                                               \
    X(GAIN_ADD, "INSERT INTO daily (video_id, day, gained, gained_total) VALUES (?1, ?2, ?3, "               \
                "?3 + ifnull((SELECT gained_total FROM daily WHERE video_id = ?1 "                           \
                "ORDER BY day DESC LIMIT 1), 0)) ON CONFLICT (video_id, day) DO UPDATE "                     \
                "SET gained = gained + excluded.gained, gained_total = excluded.gained_total")               \
    X(STATS_SCAN, SQL_STATS_SCAN("videos_in_stats", "v.author_id = ?1"))                                     \
    X(STATS_SCAN_BOOK, SQL_STATS_SCAN("videos_by_book", "v.book_id = ?1"))                                   \
    X(DAYS, "SELECT day, gained, gained_total FROM daily WHERE video_id = ?1 AND day BETWEEN ?2 AND ?3 "     \
            "ORDER BY day")                                                                                  \
                                                                                                             \
    /* events */                                                                                             \
    X(EVENT_INSERT, "INSERT INTO events (author_id, id, video_id, type, occurred_at, value, threshold, "     \
                    "author_median_views) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")                          \
    X(EVENTS_ASCENDING, SQL_EVENTS_PAGE(">", "ASC"))                                                         \
    X(EVENTS_DESCENDING, SQL_EVENTS_PAGE("<", "DESC"))                                                       \
    X(EVENT_COUNT, "SELECT count(*) FROM (SELECT id FROM events WHERE author_id = ?1 AND id > ?2 LIMIT ?3)") \
                                                                                                             \
    /* the refresh */                                                                                        \
    X(LEASE, "SELECT fence, holder, taken_at, expires_at FROM refresh_lease WHERE id = 1")                   \
    X(LEASE_PUT,                                                                                             \
      "UPDATE refresh_lease SET fence = ?1, holder = ?2, taken_at = ?3, expires_at = ?4 WHERE id = 1")       \
    X(LEASE_CLEAR, "UPDATE refresh_lease SET fence = fence + 1, holder = '', expires_at = 0 WHERE id = 1")   \
    X(RUN_INSERT, "INSERT INTO refresh_runs (cause, holder, started_at) VALUES (?1, ?2, ?3)")                \
    X(RUN_FINISH, "UPDATE refresh_runs SET finished_at = ?2, outcome = ?3, error = ?4 WHERE id = ?1")        \
    X(RUN_COUNT_PUT,                                                                                         \
      "INSERT INTO refresh_counts (run_id, source, platform, name, value) VALUES (?1, ?2, ?3, ?4, ?5)")      \
    X(RUNS_ABANDON,                                                                                          \
      "UPDATE refresh_runs INDEXED BY refresh_runs_unfinished SET outcome = 4 WHERE outcome IS NULL")        \
    X(RUNS_PRUNE, "DELETE FROM refresh_runs WHERE id <= ?1 AND id <> ifnull((SELECT max(id) FROM "           \
                  "refresh_runs INDEXED BY refresh_runs_complete WHERE is_complete = 1), 0)")                \
    X(RUN_LAST_COMPLETE,                                                                                     \
      "SELECT started_at, finished_at FROM refresh_runs INDEXED BY refresh_runs_complete "                   \
      "WHERE is_complete = 1 ORDER BY id DESC LIMIT 1")                                                      \
    X(RUNS,                                                                                                  \
      "SELECT id, cause, holder, started_at, finished_at, outcome, error FROM refresh_runs WHERE id > "      \
      "0 ORDER BY id DESC LIMIT ?1")                                                                         \
    X(RUN_COUNTS, "SELECT source, platform, name, value FROM refresh_counts WHERE run_id = ?1 ORDER BY "     \
                  "source, platform, name")                                                                  \
    X(AUTHOR_NEXT, "SELECT id FROM authors WHERE id > ?1 ORDER BY id LIMIT 1")                               \
    X(VIDEOS_LIVE,                                                                                           \
      "SELECT " SQL_VIDEO " FROM videos v INDEXED BY videos_by_author WHERE v.author_id = ?1 AND "           \
      "v.posted_at >= ?2 AND v.posted_at <= ?3 ORDER BY v.posted_at DESC, v.uuid DESC")                      \
    X(VIDEOS_COUNT_LIVE,                                                                                     \
      "SELECT count(*), ifnull(sum(ifnull(views_updated_at, posted_at) < ?4), 0) FROM videos INDEXED BY "    \
      "videos_by_author WHERE author_id = ?1 AND posted_at >= ?2 AND posted_at <= ?3")                       \
                                                                                                             \
    /* files of the spool */                                                                                 \
    X(SPOOL_FIND, "SELECT " SQL_SPOOL_FILE " FROM spool_files WHERE name = ?1")                              \
    X(SPOOL_NEXT, "SELECT " SQL_SPOOL_FILE " FROM spool_files WHERE name > ?1 ORDER BY name LIMIT 1")        \
    X(SPOOL_INSERT, "INSERT INTO spool_files (name, size, inode, modified_ns) VALUES (?1, ?2, ?3, ?4)")      \
    X(SPOOL_SAVE, "UPDATE spool_files SET applied_at = ?2, step_at = ?3, step_author = ?4 WHERE id = ?1")    \
    X(SPOOL_DELETE, "DELETE FROM spool_files WHERE id = ?1")                                                 \
    X(SPOOL_ERROR_ADD, "INSERT INTO spool_errors (file_id, line, reason) VALUES (?1, ?2, ?3) "               \
                       "ON CONFLICT (file_id, line) DO NOTHING")                                             \
    X(SPOOL_ERROR_COUNT, "SELECT count(*) FROM spool_errors WHERE file_id = ?1")                             \
    X(SPOOL_ERRORS, "SELECT line, reason FROM spool_errors WHERE file_id = ?1 ORDER BY line")                \
                                                                                                             \
    /* apps */                                                                                               \
    X(APP_BY_CLIENT_ID, "SELECT " SQL_APP " FROM apps p WHERE p.client_id = ?1")                             \
    X(APPS, "SELECT " SQL_APP " FROM apps p ORDER BY p.id")                                                  \
    X(APP_INSERT, "INSERT INTO apps (client_id, name, home_url, secret_hash, created_at) "                   \
                  "VALUES (?1, ?2, ?3, ?4, ?5)")                                                             \
    X(APP_SET_SECRET, "UPDATE apps SET secret_hash = ?2 WHERE id = ?1")                                      \
    X(APP_REMOVE, "UPDATE apps SET removed_at = ifnull(removed_at, ?2) WHERE id = ?1")                       \
    X(APP_REDIRECTS, "SELECT uri FROM app_redirects WHERE app_id = ?1 ORDER BY uri")                         \
    X(APP_REDIRECT_INSERT, "INSERT OR IGNORE INTO app_redirects (app_id, uri) VALUES (?1, ?2)")              \
    X(APP_KEYS_LIVE, "SELECT count(*) FROM api_keys WHERE app_id = ?1 AND revoked_at IS NULL")               \
    X(APP_KEYS_REVOKE, "UPDATE api_keys SET revoked_at = ?2 WHERE app_id = ?1 AND revoked_at IS NULL")       \
    X(APP_KEYS_OF_AUTHOR_REVOKE, "UPDATE api_keys SET revoked_at = ?3 "                                      \
                                 "WHERE app_id = ?1 AND author_id = ?2 AND revoked_at IS NULL")              \
                                                                                                             \
    /* authorization codes */                                                                                \
    X(CODE_INSERT, "INSERT INTO oauth_codes (hash, app_id, author_id, redirect_uri, challenge, created_at) " \
                   "VALUES (?1, ?2, ?3, ?4, ?5, ?6)")                                                        \
    X(CODE_BY_HASH, "SELECT app_id, author_id, redirect_uri, challenge, created_at, used_at, key_id "        \
                    "FROM oauth_codes WHERE hash = ?1")                                                      \
    X(CODE_USE, "UPDATE oauth_codes SET used_at = ?2, key_id = ?3 WHERE hash = ?1 AND used_at IS NULL")      \
    X(CODES_PURGE_IDLE, SQL_CODES_PURGE("oauth_codes_idle", "key_id IS NULL"))                               \
    X(CODES_PURGE_SPENT, SQL_CODES_PURGE("oauth_codes_spent", "key_id IS NOT NULL"))                         \
                                                                                                             \
    /* accounts at the platforms */                                                                          \
    X(CREDENTIAL, "SELECT " SQL_CREDENTIAL " FROM platform_credentials WHERE id = ?1")                       \
    X(CREDENTIAL_OF,                                                                                         \
      "SELECT " SQL_CREDENTIAL " FROM platform_credentials WHERE api = ?1 AND account_id = ?2")              \
    X(CREDENTIALS_OF_AUTHOR,                                                                                 \
      "SELECT " SQL_CREDENTIAL " FROM platform_credentials WHERE author_id = ?1 ORDER BY api, account_id")   \
    X(CREDENTIALS, "SELECT " SQL_CREDENTIAL " FROM platform_credentials WHERE id > ?1 ORDER BY id LIMIT ?2") \
    X(CREDENTIALS_COUNT,                                                                                     \
      "SELECT count(*) FROM platform_credentials INDEXED BY platform_credentials_by_state "                  \
      "WHERE api = ?1 AND state = ?2")                                                                       \
    X(CREDENTIAL_ERRORS,                                                                                     \
      "SELECT last_error, count(*) FROM platform_credentials WHERE api = ?1 AND last_error IS NOT NULL "     \
      "AND (failures > 0 OR state <> 0) GROUP BY last_error ORDER BY count(*) DESC, last_error LIMIT ?2")    \
    X(CREDENTIAL_PUT,                                                                                        \
      "INSERT INTO platform_credentials (author_id, api, account_id, account_name, scopes, access_sealed, "  \
      "refresh_sealed, access_expires_at, refresh_expires_at, obtained_at, is_personal) "                    \
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (api, account_id) DO UPDATE SET "   \
      "account_name = excluded.account_name, scopes = excluded.scopes, access_sealed = "                     \
      "excluded.access_sealed, "                                                                             \
      "refresh_sealed = excluded.refresh_sealed, access_expires_at = excluded.access_expires_at, "           \
      "refresh_expires_at = excluded.refresh_expires_at, obtained_at = excluded.obtained_at, state = 0, "    \
      "version = version + 1, refresh_sent_at = NULL, failures = 0, last_error = NULL, last_error_at = "     \
      "NULL, is_personal = excluded.is_personal, "                                                           \
      "tier = 0, dropped = '', tier_until = NULL WHERE author_id = excluded.author_id RETURNING id, "        \
      "version")                                                                                             \
    X(CREDENTIAL_SWAP,                                                                                       \
      "UPDATE platform_credentials SET access_sealed = ?3, refresh_sealed = ?4, access_expires_at = ?5, "    \
      "refresh_expires_at = ?6, scopes = ?7, obtained_at = ?8, state = 0, version = version + 1, "           \
      "refresh_sent_at = NULL, failures = 0 WHERE id = ?1 AND version = ?2")                                 \
    X(CREDENTIAL_RESEAL,                                                                                     \
      "UPDATE platform_credentials SET access_sealed = ?2, refresh_sealed = ?3 WHERE id = ?1")               \
    X(CREDENTIAL_REFRESH_BEGIN,                                                                              \
      "UPDATE platform_credentials SET refresh_sent_at = ?3 WHERE id = ?1 AND version = ?2 "                 \
      "AND (refresh_sent_at IS NULL OR refresh_sent_at <= ?4 OR refresh_sent_at > ?3)")                      \
    X(CREDENTIAL_REFRESH_END,                                                                                \
      "UPDATE platform_credentials SET refresh_sent_at = NULL WHERE id = ?1 AND version = ?2")               \
    X(CREDENTIAL_OK,                                                                                         \
      "UPDATE platform_credentials SET failures = 0, state = 0, last_ok_at = ?2 WHERE id = ?1")              \
    X(CREDENTIAL_FAILED,                                                                                     \
      "UPDATE platform_credentials SET failures = failures + 1, last_error = ?3, last_error_at = ?4, "       \
      "state = ?5 WHERE id = ?1 AND version = ?2")                                                           \
    X(CREDENTIAL_TIER,                                                                                       \
      "UPDATE platform_credentials SET tier = ?2, dropped = ?3, tier_until = ?4 WHERE id = ?1")              \
    X(CREDENTIAL_DELETE, "DELETE FROM platform_credentials WHERE id = ?1")                                   \
    X(CREDENTIAL_DELETE_OF, "DELETE FROM platform_credentials WHERE id = ?1 AND author_id = ?2")             \
    X(LINK_INSERT,                                                                                           \
      "INSERT INTO platform_links (state_hash, session_hash, author_id, api, verifier, created_at) "         \
      "VALUES (?1, ?2, ?3, ?4, ?5, ?6)")                                                                     \
    X(LINK_FIND, "SELECT session_hash, author_id, api, verifier, created_at FROM platform_links "            \
                 "WHERE state_hash = ?1")                                                                    \
    X(LINK_DELETE, "DELETE FROM platform_links WHERE state_hash = ?1")                                       \
    X(LINKS_PURGE, "DELETE FROM platform_links INDEXED BY platform_links_by_age WHERE created_at < ?1")      \
    X(PLATFORM_POST,                                                                                         \
      "SELECT " SQL_PLATFORM_POST " FROM platform_posts WHERE platform = ?1 AND post_id = ?2")               \
    X(PLATFORM_POST_PUT, "INSERT OR REPLACE INTO platform_posts (" SQL_PLATFORM_POST ") "                    \
                         "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")                                      \
    X(PLATFORM_POST_DELETE, "DELETE FROM platform_posts WHERE platform = ?1 AND post_id = ?2")               \
    X(LIMIT_GET, "SELECT value, until FROM platform_limits WHERE api = ?1 AND name = ?2")                    \
    X(LIMIT_PUT, "INSERT OR REPLACE INTO platform_limits (api, name, value, until) VALUES (?1, ?2, ?3, ?4)") \
    X(LIMIT_DELETE, "DELETE FROM platform_limits WHERE api = ?1 AND name = ?2")                              \
    X(LIMITS, "SELECT name, value, until FROM platform_limits WHERE api = ?1 ORDER BY name")

#define STORE_QUERY_ENUM(name, sql) QUERY_##name,
enum query { STORE_QUERIES(STORE_QUERY_ENUM) QUERY_COUNT };
#undef STORE_QUERY_ENUM

#endif
