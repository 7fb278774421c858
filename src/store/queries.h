/* Every SQL statement except the migrations. A statement is constant text, to which values are bound.
 *
 * A unit test checks the query plan of each statement and fails on a full scan or a sort. INDEXED BY pins the
 * plan where two indexes are possible, so that the plan does not depend on statistics; a missing index is
 * then an error at open. CROSS JOIN fixes the order of a join. Lists are keyset pages: `(posted_at, uuid) <
 * (?, ?)` is one bound of the index range. SQLite uses a partial index only if the statement says IS NOT NULL
 * or compares only that column. */
#ifndef VT_STORE_QUERIES_H
#define VT_STORE_QUERIES_H

#include "store/archive_queries.h"
#include "store/erase_queries.h"

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
 * wal_autocheckpoint = 16000 pages (64 MiB, also the maximum size of the log file after a checkpoint): an
 * import changes the same pages many times, and with SQLite's default of 1,000 pages it spends half of its
 * time on checkpoints. In a server, jobs make checkpoints earlier (checkpoint.h).
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

/* --- backup and restore: on their own connections, not prepared --- */

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
#define SQL_NOTE_ANCESTOR                                                                                    \
    "INSERT OR IGNORE INTO main.meta (key, value) SELECT 'ancestor:' || hex(value), 1 FROM main.meta "       \
    "WHERE key = 'store_id'"
#define SQL_INTEGRITY   "PRAGMA integrity_check(1)"
#define SQL_QUICK_CHECK "PRAGMA quick_check(1)"
/* Leaving WAL mode needs exclusive access. */
#define SQL_LEAVE_WAL "PRAGMA journal_mode = DELETE"

/* Each statement counts the rows that break a rule of the schema. */
#define STORE_SUMS(X)                                                                                        \
    X("the views of a video are its baseline and the sum of its daily gains",                                \
      "SELECT count(*) FROM videos v WHERE v.views <> v.baseline + "                                         \
      "(SELECT ifnull(sum(d.gained), 0) FROM daily d WHERE d.video_id = v.id)")                              \
    X("the running total of a day is the sum of the gains until this day",                                   \
      "SELECT count(*) FROM (SELECT gained_total, sum(gained) OVER (PARTITION BY video_id ORDER BY day) "    \
      "AS total FROM daily) WHERE gained_total <> total")                                                    \
    X("the gains by platform of an author's day are at most the gains of the author's videos on it",         \
      "SELECT count(*) FROM (SELECT author_id, day, sum(gained) AS split FROM author_daily "                 \
      "GROUP BY author_id, day) p LEFT JOIN (SELECT v.author_id, d.day, sum(d.gained) AS total "             \
      "FROM daily d CROSS JOIN videos v ON v.id = d.video_id GROUP BY v.author_id, d.day UNION ALL "         \
      "SELECT author_id, -2147483648, sum(baseline) FROM videos GROUP BY author_id) t "                      \
      "ON t.author_id = p.author_id AND t.day = p.day WHERE p.split > ifnull(t.total, 0)")                   \
    X("the number of videos of a book is the number of its posted videos",                                   \
      "SELECT count(*) FROM books b WHERE b.videos_posted <> "                                               \
      "(SELECT count(*) FROM videos v WHERE v.book_id = b.id AND v.posted_at IS NOT NULL)")                  \
    X("the number of videos of an author is the number of the author's posted videos",                       \
      "SELECT count(*) FROM authors a WHERE a.videos_count <> "                                              \
      "(SELECT count(*) FROM videos v WHERE v.author_id = a.id AND v.posted_at IS NOT NULL)")                \
    X("the number of books of an author is the number of the author's books",                                \
      "SELECT count(*) FROM authors a WHERE a.books_count <> "                                               \
      "(SELECT count(*) FROM books b WHERE b.author_id = a.id)")                                             \
    X("the newest event of an author is the newest one in the event feed",                                   \
      "SELECT count(*) FROM authors a WHERE a.last_event_id <> "                                             \
      "(SELECT ifnull(max(e.id), 0) FROM events e WHERE e.author_id = a.id)")                                \
    X("no event id is above the newest issued one",                                                          \
      "SELECT count(*) FROM authors a WHERE a.last_event_id > "                                              \
      "(SELECT value FROM meta WHERE key = 'last_event_id')")                                                \
    X("every reference leads to an existing row", "SELECT count(*) FROM pragma_foreign_key_check")

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
#define SQL_APP                                                                                              \
    "p.id, p.client_id, p.name, p.home_url, p.secret_hash, p.created_at, p.removed_at, p.webhook_url"
#define SQL_BOOK        "b.id, b.author_id, b.uuid, b.title, b.subtitle, b.created_at, b.videos_posted"
#define SQL_KEY_AND_APP SQL_KEY ", p.name, p.home_url"
#define SQL_VIDEO                                                                                            \
    "v.id, v.author_id, v.book_id, v.uuid, v.title, v.thumbnail_url, v.posted_at, v.views, v.baseline, "     \
    "v.first_reading_at, v.views_updated_at, v.went_viral_at, v.views_when_viral, v.threshold, "             \
    "v.author_median_views, v.compared_videos, v.baseline_pending, v.posts, v.milestones, v.days"
#define SQL_VIDEO_REF  "v.uuid, v.title, v.thumbnail_url, v.posted_at"
#define SQL_BOOK_REF   "b.uuid, b.title"
#define SQL_EVENT      "e.id, e.type, e.occurred_at, e.value, e.threshold, e.author_median_views, e.video_id"
#define SQL_SPOOL_FILE "id, name, size, inode, modified_ns, applied_at, step_at, step_author"
#define SQL_AUDIT                                                                                            \
    "u.author_id, u.id, u.at, u.action, u.actor, u.actor_name, u.address, u.subject, u.details, a.uuid"

#define SQL_CREDENTIAL                                                                                       \
    "id, author_id, api, account_id, account_name, scopes, access_sealed, refresh_sealed, "                  \
    "access_expires_at, refresh_expires_at, obtained_at, state, version, refresh_sent_at, failures, "        \
    "last_error, last_error_at, last_ok_at, tier, dropped, tier_until, is_personal"
#define SQL_PLATFORM_POST                                                                                    \
    "platform, post_id, resolved_id, credential_id, views_source, misses, missed_since, is_permanent, "      \
    "requested_at"

/* An endpoint of an app has the secret of the app, and is active only while the app has a live key of the
 * author and its URL is the one to which the author has consented. */
#define SQL_WEBHOOK                                                                                          \
    "e.id, e.uuid, e.author_id, e.app_id, e.url, e.types, ifnull(e.secret, p.webhook_secret), "              \
    "ifnull(e.old_secret, p.webhook_old_secret), ifnull(e.old_secret_until, p.webhook_old_secret_until), "   \
    "e.created_at, e.state, e.state_at, e.position, e.failures, e.next_attempt_at, e.attempts, a.uuid, "     \
    "a.plan_active, a.last_event_id, p.name, p.client_id, e.app_id IS NULL OR (p.webhook_url IS e.url AND "  \
    "EXISTS (SELECT 1 FROM api_keys k WHERE k.app_id = e.app_id AND k.author_id = e.author_id "              \
    "AND k.revoked_at IS NULL))"
#define SQL_FROM_WEBHOOKS                                                                                    \
    " FROM webhook_endpoints e CROSS JOIN authors a ON a.id = e.author_id "                                  \
    "LEFT JOIN apps p ON p.id = e.app_id WHERE "
/* A stored time that is further ahead than any pause is left over from before the clock was set back. */
#define SQL_WEBHOOK_IS_DUE                                                                                   \
    "(e.next_attempt_at IS NULL OR e.next_attempt_at <= ?2 OR e.next_attempt_at > ?2 + 172800000)"

/* --- sign-in --- */

#define SQL_VIEWER "a.id, a.uuid, a.name, a.plan_active, l.name, l.password"

/* --- fragments that several statements share --- */

/* A row id that neither an existing row nor an erased one has (erase.h). */
#define SQL_UNUSED_ROW(table, erased)                                                                        \
    "1 + max(ifnull((SELECT max(id) FROM " table "), 0), "                                                   \
    "ifnull((SELECT value FROM meta WHERE key = '" erased "'), 0))"

#define SQL_VIDEOS_PAGE(index, where)                                                                        \
    "SELECT " SQL_VIDEO ", " SQL_BOOK_REF " FROM videos v INDEXED BY " index                                 \
    " LEFT JOIN books b ON b.id = v.book_id WHERE " where                                                    \
    " AND v.posted_at >= ?2 AND (v.posted_at, v.uuid) < (?3, ?4)"                                            \
    " ORDER BY v.posted_at DESC, v.uuid DESC LIMIT ?5"

#define SQL_STATS_SCAN(index, where)                                                                         \
    "SELECT v.posted_at, v.uuid, v.id, v.first_reading_at, v.days, v.baseline, "                             \
    "v.went_viral_at, v.title, v.book_id, v.views FROM videos v INDEXED BY " index " WHERE " where           \
    " AND v.posted_at IS NOT NULL AND (v.posted_at, v.uuid) < (?2, ?3)"                                      \
    " ORDER BY v.posted_at DESC, v.uuid DESC"

/* LEFT JOIN also fixes the order of the loops. An event whose video is missing has NULLs, which
 * row_to_video_ref() rejects. */
#define SQL_EVENTS_PAGE(compare, order)                                                                      \
    "SELECT " SQL_EVENT ", " SQL_VIDEO_REF ", v.book_id, v.posts FROM events e "                             \
    "LEFT JOIN videos v ON v.id = e.video_id "                                                               \
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

/* Writes no indexed column, so that a reading changes one row and no index. */
#define SQL_SAVE_COUNTS(more)                                                                                \
    "UPDATE videos SET views = ?2, baseline = ?3, views_updated_at = ?4, threshold = ?5, "                   \
    "author_median_views = ?6, compared_videos = ?7, posts = ?8, milestones = ?9, recent = ?10, days = "     \
    "?11" more " WHERE id = ?1"

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
    X(AUTHOR_INSERT,                                                                                         \
      "INSERT INTO authors (id, uuid, name, plan_active, created_at) VALUES (" SQL_UNUSED_ROW(               \
          "authors", "last_erased_author") ", ?1, ?2, ?3, ?4)")                                              \
    X(AUTHOR_UPDATE, "UPDATE authors SET name = ?2, plan_active = ?3, rev = rev + 1 WHERE id = ?1")          \
    X(AUTHOR_PLAN, "SELECT plan_active FROM authors WHERE id = ?1")                                          \
    X(AUTHOR_TOUCH, "UPDATE authors SET rev = rev + 1, views_refreshed_at = "                                \
                    "CASE WHEN ?2 > ifnull(views_refreshed_at, -1) THEN ?2 ELSE views_refreshed_at END "     \
                    "WHERE id = ?1")                                                                         \
    X(AUTHOR_SET_LAST_EVENT_ID,                                                                              \
      "UPDATE authors SET last_event_id = ?2, feed_rev = feed_rev + 1 WHERE id = ?1")                        \
    X(AUTHOR_TOUCH_FEED, "UPDATE authors SET feed_rev = feed_rev + 1 WHERE id = ?1")                         \
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
    X(KEY_INSERT,                                                                                            \
      "INSERT INTO api_keys (id, uuid, author_id, hash, name, suffix, created_at, app_id, last_used_at, "    \
      "revoked_at) VALUES (" SQL_UNUSED_ROW("api_keys",                                                      \
                                            "last_erased_key") ", ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")      \
    X(KEY_BY_ROW, "SELECT " SQL_KEY " FROM api_keys k WHERE k.id = ?1")                                      \
    X(KEY_REVOKE, "UPDATE api_keys SET revoked_at = ifnull(revoked_at, ?2) WHERE id = ?1")                   \
    X(KEY_SET_FIRST_USED, "UPDATE api_keys SET last_used_at = ?2 WHERE id = ?1 AND last_used_at IS NULL")    \
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
    X(INVITATION_PENDING, "SELECT 1 FROM invitations WHERE author_id = ?1 AND used_at IS NULL "              \
                          "AND expires_at > ?2 LIMIT 1")                                                     \
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
    X(VIDEOS_SEARCH,                                                                                         \
      "SELECT v.id, v.uuid, v.posted_at, v.book_id, v.went_viral_at, v.views, v.views_updated_at, v.posts, " \
      "v.days, v.baseline, v.title FROM videos v INDEXED BY videos_in_events WHERE v.author_id = ?1 "        \
      "AND v.id > ?2 ORDER BY v.id")                                                                         \
    X(VIDEO_FOUND,                                                                                           \
      "SELECT " SQL_VIDEO ", " SQL_BOOK_REF " FROM videos v LEFT JOIN books b ON b.id = v.book_id "          \
      "WHERE v.id = ?1 AND v.author_id = ?2 AND v.posted_at IS NOT NULL")                                    \
    X(VIDEO_INSERT, "INSERT INTO videos (id, uuid, author_id, book_id, posted_at, threshold, "               \
                    "author_median_views, compared_videos, title, thumbnail_url, posts, recent) "            \
                    "VALUES (" SQL_NEXT_VIDEO ", ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, x'')")             \
    X(VIDEO_UPDATE, "UPDATE videos SET book_id = ?2, posted_at = ?3, title = ?4, thumbnail_url = ?5, "       \
                    "posts = ?6 WHERE id = ?1")                                                              \
    X(SAVE_COUNTS, SQL_SAVE_COUNTS(""))                                                                      \
    X(SAVE_COUNTS_VIRAL, SQL_SAVE_COUNTS(", went_viral_at = ?12, views_when_viral = ?13"))                   \
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
    X(DAYS_OF_VIDEOS, "SELECT id, views, baseline, days FROM videos WHERE id > ?1 ORDER BY id LIMIT ?2")     \
    X(VIDEO_SET_DAYS, "UPDATE videos SET days = ?2 WHERE id = ?1")                                           \
    X(AUTHOR_DAY, "SELECT gained FROM author_daily WHERE author_id = ?1 AND day = ?2 AND platform = ?3")     \
    X(AUTHOR_DAY_ADD, /* the sum is bounded by AUTHOR_GAINED_MAX = 2^60 */                                   \
      "INSERT INTO author_daily (author_id, day, platform, gained) VALUES (?1, ?2, ?3, ?4) "                 \
      "ON CONFLICT (author_id, day, platform) DO UPDATE SET gained = "                                       \
      "CASE WHEN author_daily.gained < 1152921504606846976 - excluded.gained "                               \
      "THEN author_daily.gained + excluded.gained ELSE 1152921504606846976 END")                             \
    X(AUTHOR_DAY_SET,                                                                                        \
      "UPDATE author_daily SET gained = ?4 WHERE author_id = ?1 AND day = ?2 AND platform = ?3")             \
    X(AUTHOR_DAYS, "SELECT day, platform, gained FROM author_daily WHERE author_id = ?1 "                    \
                   "AND (day, platform) > (?2, ?3) AND day <= ?4 ORDER BY day, platform")                    \
    X(STATS_SCAN, SQL_STATS_SCAN("videos_by_author", "v.author_id = ?1"))                                    \
    X(STATS_SCAN_BOOK, SQL_STATS_SCAN("videos_by_book", "v.book_id = ?1"))                                   \
    X(DAYS, "SELECT day, gained, gained_total FROM daily WHERE video_id = ?1 AND day BETWEEN ?2 AND ?3 "     \
            "ORDER BY day")                                                                                  \
                                                                                                             \
    /* events */                                                                                             \
    X(EVENT_INSERT, "INSERT INTO events (author_id, id, video_id, type, occurred_at, value, threshold, "     \
                    "author_median_views) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")                          \
    X(EVENTS_ASCENDING, SQL_EVENTS_PAGE(">", "ASC"))                                                         \
    X(EVENTS_DESCENDING, SQL_EVENTS_PAGE("<", "DESC"))                                                       \
    X(EVENTS_OF_AUTHOR, "SELECT " SQL_EVENT " FROM events e WHERE e.author_id = ?1 ORDER BY e.id")           \
    X(VIDEOS_OF_AUTHOR, "SELECT " SQL_VIDEO " FROM videos v INDEXED BY videos_in_events "                    \
                        "WHERE v.author_id = ?1 ORDER BY v.id")                                              \
    X(EVENT_COUNT, "SELECT count(*) FROM (SELECT id FROM events WHERE author_id = ?1 AND id > ?2 LIMIT ?3)") \
                                                                                                             \
    /* the refresh */                                                                                        \
    X(LEASE, "SELECT fence, holder, taken_at, expires_at FROM refresh_lease WHERE id = 1")                   \
    X(LEASE_PUT,                                                                                             \
      "UPDATE refresh_lease SET fence = ?1, holder = ?2, taken_at = ?3, expires_at = ?4 WHERE id = 1")       \
    X(LEASE_CLEAR, "UPDATE refresh_lease SET fence = fence + 1, holder = '', expires_at = 0 WHERE id = 1")   \
    X(NAMED_LEASE, "SELECT fence, holder, taken_at, expires_at FROM leases WHERE name = ?1")                 \
    X(NAMED_LEASE_PUT, "INSERT INTO leases (name, fence, holder, taken_at, expires_at) VALUES (?5, ?1, ?2, " \
                       "?3, ?4) ON CONFLICT (name) DO UPDATE SET fence = excluded.fence, holder = "          \
                       "excluded.holder, taken_at = excluded.taken_at, expires_at = excluded.expires_at")    \
    X(NAMED_LEASES_CLEAR, "UPDATE leases SET fence = fence + 1, holder = '', expires_at = 0 WHERE name IN "  \
                          "('backup', 'webhooks')")                                                          \
    X(BACKUP_STATE,                                                                                          \
      "SELECT started_at, finished_at, bytes, file, failed_at, error FROM backup_state WHERE id = 1")        \
    X(BACKUP_SUCCEEDED, "UPDATE backup_state SET started_at = ?1, finished_at = ?2, bytes = ?3, file = ?4, " \
                        "failed_at = NULL, error = NULL WHERE id = 1")                                       \
    X(BACKUP_FAILED, "UPDATE backup_state SET failed_at = ?1, error = ?2 WHERE id = 1")                      \
    X(ANCESTOR, "SELECT 1 FROM meta WHERE key >= 'ancestor:' || ?1 AND key < 'ancestor:' || ?1 || 'G' "      \
                "LIMIT 1")                                                                                   \
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
    X(APP_KEY_NEXT_LIVE,                                                                                     \
      "SELECT id, author_id FROM api_keys INDEXED BY api_keys_by_app WHERE app_id = ?1 "                     \
      "AND (author_id, id) > (?2, ?3) AND revoked_at IS NULL ORDER BY author_id, id LIMIT 1")                \
                                                                                                             \
    /* webhooks */                                                                                           \
    X(WEBHOOK_INSERT, "INSERT INTO webhook_endpoints (uuid, author_id, app_id, url, types, secret, "         \
                      "created_at, state_at, position) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8)")         \
    X(WEBHOOK_BY_ROW, "SELECT " SQL_WEBHOOK SQL_FROM_WEBHOOKS "e.id = ?1")                                   \
    X(WEBHOOK_BY_UUID, "SELECT " SQL_WEBHOOK SQL_FROM_WEBHOOKS "e.uuid = ?1")                                \
    X(WEBHOOK_OF_APP, "SELECT " SQL_WEBHOOK SQL_FROM_WEBHOOKS "e.app_id = ?1 AND e.author_id = ?2")          \
    X(WEBHOOKS, "SELECT " SQL_WEBHOOK SQL_FROM_WEBHOOKS "e.id > ?1 ORDER BY e.id LIMIT ?2")                  \
    X(WEBHOOKS_DUE, "SELECT " SQL_WEBHOOK SQL_FROM_WEBHOOKS                                                  \
                    "e.id > ?1 AND +e.state = 0 AND a.plan_active = 1 AND a.last_event_id > e.position "     \
                    "AND " SQL_WEBHOOK_IS_DUE " ORDER BY e.id LIMIT ?3")                                     \
    X(WEBHOOK_NEXT_ATTEMPT,                                                                                  \
      "SELECT next_attempt_at FROM webhook_endpoints INDEXED BY webhook_endpoints_by_state WHERE state = 0 " \
      "AND next_attempt_at > ?1 ORDER BY next_attempt_at LIMIT 1")                                           \
    X(WEBHOOKS_OF_AUTHOR, "SELECT " SQL_WEBHOOK SQL_FROM_WEBHOOKS "e.author_id = ?1 ORDER BY e.id LIMIT ?2") \
    X(WEBHOOK_COUNT, "SELECT count(*) FROM webhook_endpoints WHERE author_id = ?1 AND app_id IS NULL")       \
    X(WEBHOOK_SAVE, "UPDATE webhook_endpoints SET state = ?2, state_at = ?3, position = ?4, failures = ?5, " \
                    "next_attempt_at = ?6, attempts = ?7 WHERE id = ?1")                                     \
    X(WEBHOOK_SET_SECRET, "UPDATE webhook_endpoints SET secret = ?2, old_secret = ?3, old_secret_until = "   \
                          "?4 WHERE id = ?1 AND app_id IS NULL")                                             \
    X(WEBHOOK_RESEAL, "UPDATE webhook_endpoints SET secret = ?2, old_secret = ?3 WHERE id = ?1")             \
    X(WEBHOOK_DELETE, "DELETE FROM webhook_endpoints WHERE id = ?1")                                         \
    X(WEBHOOKS_COUNT_STATE, "SELECT count(*), count(next_attempt_at) FROM webhook_endpoints INDEXED BY "     \
                            "webhook_endpoints_by_state WHERE state = ?1")                                   \
    X(WEBHOOK_SECRETS, "SELECT id, author_id, uuid, secret, old_secret FROM webhook_endpoints WHERE id > "   \
                       "?1 AND secret IS NOT NULL ORDER BY id LIMIT ?2")                                     \
    X(WEBHOOK_ATTEMPT_INSERT, "INSERT INTO webhook_attempts (endpoint_id, number, event_id, at, took_ms, "   \
                              "status, error, is_manual) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)")           \
    X(WEBHOOK_ATTEMPTS, "SELECT number, event_id, at, took_ms, status, error, is_manual FROM "               \
                        "webhook_attempts WHERE endpoint_id = ?1 ORDER BY number DESC LIMIT ?2")             \
    X(WEBHOOK_ATTEMPTS_PRUNE, "DELETE FROM webhook_attempts WHERE endpoint_id = ?1 AND number <= ?2")        \
    X(WEBHOOK_ATTEMPTS_DELETE, "DELETE FROM webhook_attempts WHERE endpoint_id = ?1")                        \
    X(WEBHOOK_REQUEST_COUNT,                                                                                 \
      "SELECT count(*) FROM webhook_requests WHERE endpoint_id = ?1 AND event_id <> ?2")                     \
    X(WEBHOOK_REQUEST_PUT, "INSERT INTO webhook_requests (endpoint_id, event_id, requested_at) VALUES (?1, " \
                           "?2, ?3) ON CONFLICT (endpoint_id, event_id) DO NOTHING")                         \
    X(WEBHOOK_REQUESTS, "SELECT endpoint_id, min(event_id) FROM webhook_requests WHERE endpoint_id > ?1 "    \
                        "GROUP BY endpoint_id ORDER BY endpoint_id LIMIT ?2")                                \
    X(WEBHOOK_REQUEST_DELETE, "DELETE FROM webhook_requests WHERE endpoint_id = ?1 AND event_id = ?2")       \
    X(WEBHOOK_REQUESTS_DELETE, "DELETE FROM webhook_requests WHERE endpoint_id = ?1")                        \
    X(APP_WEBHOOK, "SELECT webhook_url, webhook_secret, webhook_old_secret, webhook_old_secret_until FROM "  \
                   "apps WHERE id = ?1")                                                                     \
    X(APP_SET_WEBHOOK, "UPDATE apps SET webhook_secret = ?2, webhook_old_secret = ?3, "                      \
                       "webhook_old_secret_until = ?4, webhook_url = ?5 WHERE id = ?1")                      \
    X(APP_SECRETS, "SELECT id, 0, client_id, webhook_secret, webhook_old_secret FROM apps WHERE id > ?1 "    \
                   "AND webhook_secret IS NOT NULL ORDER BY id LIMIT ?2")                                    \
    X(APP_RESEAL, "UPDATE apps SET webhook_secret = ?2, webhook_old_secret = ?3 WHERE id = ?1")              \
                                                                                                             \
    /* authorization codes */                                                                                \
    X(CODE_INSERT, "INSERT INTO oauth_codes (hash, app_id, author_id, redirect_uri, challenge, created_at, " \
                   "webhook_url) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")                                       \
    X(CODE_BY_HASH, "SELECT app_id, author_id, redirect_uri, challenge, created_at, used_at, key_id, "       \
                    "webhook_url FROM oauth_codes WHERE hash = ?1")                                          \
    X(CODE_USE, "UPDATE oauth_codes SET used_at = ?2, key_id = ?3 WHERE hash = ?1 AND used_at IS NULL")      \
    X(CODES_PURGE_IDLE, SQL_CODES_PURGE("oauth_codes_idle", "key_id IS NULL"))                               \
    X(CODES_PURGE_SPENT, SQL_CODES_PURGE("oauth_codes_spent", "key_id IS NOT NULL"))                         \
    STORE_ERASE_QUERIES(X)                                                                                   \
    STORE_ARCHIVE_QUERIES(X)                                                                                 \
    /* the audit log */                                                                                      \
    X(AUDIT_INSERT,                                                                                          \
      "INSERT INTO audit (author_id, id, at, action, actor, actor_name, address, subject, details) "         \
      "VALUES (?1, 1 + ifnull((SELECT max(id) FROM audit WHERE author_id = ?1), 0), ?2, ?3, ?4, ?5, "        \
      "?6, ?7, ?8)")                                                                                         \
    X(AUDIT, "SELECT " SQL_AUDIT                                                                             \
             " FROM audit u INDEXED BY audit_by_author CROSS JOIN authors a ON a.id = u.author_id "          \
             "WHERE u.author_id = ?1 AND u.at >= ?2 ORDER BY u.at DESC, u.id DESC LIMIT ?3")                 \
    X(AUDIT_ALL, "SELECT " SQL_AUDIT                                                                         \
                 " FROM audit u INDEXED BY audit_by_time CROSS JOIN authors a ON a.id = u.author_id "        \
                 "WHERE u.at >= ?1 ORDER BY u.at DESC, u.author_id DESC, u.id DESC LIMIT ?2")                \
    X(AUDIT_COUNT_SINCE, "SELECT count(*) FROM audit INDEXED BY audit_by_author WHERE author_id = ?1 "       \
                         "AND at >= ?2 AND action = ?3")                                                     \
    X(AUDIT_OLD,                                                                                             \
      "SELECT author_id, id FROM audit INDEXED BY audit_by_time WHERE at < ?1 ORDER BY at LIMIT ?2")         \
    X(AUDIT_DELETE, "DELETE FROM audit WHERE author_id = ?1 AND id = ?2")                                    \
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
