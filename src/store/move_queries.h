/* The part of queries.h with the statements of `viewtally move` (move.h). They are generated from the list of
 * all moved tables, which have the same columns on all engines. A row of the list is
 *
 *     T(X, NAME, table, number of key columns, (key columns), number of columns, types, columns)
 *
 * The columns begin with the columns of the primary key, in its order. The types have one letter for each
 * column: i integer, t text, b blob (or, on PostgreSQL, UUID). A referenced table precedes the tables that
 * refer to it. Not moved: generated columns; leases and the record of backups, which belong to a database and
 * not to its data; the table `daily` and the column videos.recent, which contain the same gains as the column
 * videos.days. */
#ifndef VT_STORE_MOVE_QUERIES_H
#define VT_STORE_MOVE_QUERIES_H

#define STORE_MOVED_TABLES(T, X)                                                                             \
    T(X, ERASED, "erased_authors", 1, (hash), 2, "bi", "hash, erased_at")                                    \
    T(X, AUTHORS, "authors", 1, (id), 11, "ibtiiiiiiii",                                                     \
      "id, uuid, name, plan_active, created_at, rev, last_event_id, books_count, videos_count, "             \
      "views_refreshed_at, feed_rev")                                                                        \
    T(X, AUTHOR_DAILY, "author_daily", 3, (author_id, day, platform), 4, "iiii",                             \
      "author_id, day, platform, gained")                                                                    \
    T(X, BOOKS, "books", 1, (id), 7, "ibittii",                                                              \
      "id, uuid, author_id, title, subtitle, created_at, videos_posted")                                     \
    T(X, VIDEOS, "videos", 1, (id), 20, "ibiiiiiiiiiiiiittbbb",                                              \
      "id, uuid, author_id, book_id, posted_at, views, baseline, first_reading_at, views_updated_at, "       \
      "went_viral_at, views_when_viral, threshold, author_median_views, compared_videos, "                   \
      "baseline_pending, title, thumbnail_url, posts, milestones, days")                                     \
    T(X, POST_KEYS, "post_keys", 2, (platform, post_id), 3, "iti", "platform, post_id, video_id")            \
    T(X, EVENTS, "events", 2, (author_id, id), 8, "iiiiiiii",                                                \
      "author_id, id, video_id, type, occurred_at, value, threshold, author_median_views")                   \
    T(X, APPS, "apps", 1, (id), 11, "itttbiitbbi",                                                           \
      "id, client_id, name, home_url, secret_hash, created_at, removed_at, webhook_url, webhook_secret, "    \
      "webhook_old_secret, webhook_old_secret_until")                                                        \
    T(X, APP_REDIRECTS, "app_redirects", 2, (app_id, uri), 2, "it", "app_id, uri")                           \
    T(X, API_KEYS, "api_keys", 1, (id), 10, "ibibttiiii",                                                    \
      "id, uuid, author_id, hash, name, suffix, created_at, last_used_at, revoked_at, app_id")               \
    T(X, OAUTH_CODES, "oauth_codes", 1, (hash), 9, "biittiiit",                                              \
      "hash, app_id, author_id, redirect_uri, challenge, created_at, used_at, key_id, webhook_url")          \
    T(X, LOGINS, "logins", 1, (author_id), 4, "itti", "author_id, name, password, password_set_at")          \
    T(X, INVITATIONS, "invitations", 1, (hash), 6, "bitiii",                                                 \
      "hash, author_id, login, created_at, expires_at, used_at")                                             \
    T(X, SESSIONS, "sessions", 1, (hash), 5, "biiii", "hash, author_id, created_at, seen_at, expires_at")    \
    T(X, DEVICES, "devices", 1, (hash), 4, "biii", "hash, author_id, created_at, expires_at")                \
    T(X, CREDENTIALS, "platform_credentials", 1, (id), 22, "iiitttbbiiiiiiitiiitii",                         \
      "id, author_id, api, account_id, account_name, scopes, access_sealed, refresh_sealed, "                \
      "access_expires_at, refresh_expires_at, obtained_at, state, version, refresh_sent_at, failures, "      \
      "last_error, last_error_at, last_ok_at, tier, dropped, tier_until, is_personal")                       \
    T(X, PLATFORM_POSTS, "platform_posts", 2, (platform, post_id), 9, "ittiiiiii",                           \
      "platform, post_id, resolved_id, credential_id, views_source, misses, missed_since, is_permanent, "    \
      "requested_at")                                                                                        \
    T(X, PLATFORM_LIMITS, "platform_limits", 2, (api, name), 4, "itii", "api, name, value, until")           \
    T(X, PLATFORM_LINKS, "platform_links", 1, (state_hash), 6, "bbiibi",                                     \
      "state_hash, session_hash, author_id, api, verifier, created_at")                                      \
    T(X, WEBHOOK_ENDPOINTS, "webhook_endpoints", 1, (id), 16, "ibiitibbiiiiiiii",                            \
      "id, uuid, author_id, app_id, url, types, secret, old_secret, old_secret_until, created_at, state, "   \
      "state_at, position, failures, next_attempt_at, attempts")                                             \
    T(X, WEBHOOK_ATTEMPTS, "webhook_attempts", 2, (endpoint_id, number), 8, "iiiiiiti",                      \
      "endpoint_id, number, event_id, at, took_ms, status, error, is_manual")                                \
    T(X, WEBHOOK_REQUESTS, "webhook_requests", 2, (endpoint_id, event_id), 3, "iii",                         \
      "endpoint_id, event_id, requested_at")                                                                 \
    T(X, AUDIT, "audit", 2, (author_id, id), 9, "iiitttttt",                                                 \
      "author_id, id, at, action, actor, actor_name, address, subject, details")                             \
    T(X, REFRESH_RUNS, "refresh_runs", 1, (id), 7, "iitiiit",                                                \
      "id, cause, holder, started_at, finished_at, outcome, error")                                          \
    T(X, REFRESH_COUNTS, "refresh_counts", 4, (run_id, source, platform, name), 5, "iiiti",                  \
      "run_id, source, platform, name, value")                                                               \
    T(X, SPOOL_FILES, "spool_files", 1, (id), 8, "itiiiiib",                                                 \
      "id, name, size, inode, modified_ns, applied_at, step_at, step_author")                                \
    T(X, SPOOL_ERRORS, "spool_errors", 2, (file_id, line), 3, "iit", "file_id, line, reason")

/* For the key columns (a, b): the text "a, b", the text "a DESC, b DESC", and the parameter of the limit,
 * which follows the parameters of the key. */
#define MOVE_KEYS_1(a)          #a
#define MOVE_KEYS_2(a, b)       #a ", " #b
#define MOVE_KEYS_3(a, b, c)    #a ", " #b ", " #c
#define MOVE_KEYS_4(a, b, c, d) #a ", " #b ", " #c ", " #d
#define MOVE_DESC_1(a)          #a " DESC"
#define MOVE_DESC_2(a, b)       #a " DESC, " #b " DESC"
#define MOVE_DESC_3(a, b, c)    #a " DESC, " #b " DESC, " #c " DESC"
#define MOVE_DESC_4(a, b, c, d) #a " DESC, " #b " DESC, " #c " DESC, " #d " DESC"
#define MOVE_LIMIT_1            "?2"
#define MOVE_LIMIT_2            "?3"
#define MOVE_LIMIT_3            "?4"
#define MOVE_LIMIT_4            "?5"

#define MOVE_VALUES_1  "?1"
#define MOVE_VALUES_2  MOVE_VALUES_1 ", ?2"
#define MOVE_VALUES_3  MOVE_VALUES_2 ", ?3"
#define MOVE_VALUES_4  MOVE_VALUES_3 ", ?4"
#define MOVE_VALUES_5  MOVE_VALUES_4 ", ?5"
#define MOVE_VALUES_6  MOVE_VALUES_5 ", ?6"
#define MOVE_VALUES_7  MOVE_VALUES_6 ", ?7"
#define MOVE_VALUES_8  MOVE_VALUES_7 ", ?8"
#define MOVE_VALUES_9  MOVE_VALUES_8 ", ?9"
#define MOVE_VALUES_10 MOVE_VALUES_9 ", ?10"
#define MOVE_VALUES_11 MOVE_VALUES_10 ", ?11"
#define MOVE_VALUES_12 MOVE_VALUES_11 ", ?12"
#define MOVE_VALUES_13 MOVE_VALUES_12 ", ?13"
#define MOVE_VALUES_14 MOVE_VALUES_13 ", ?14"
#define MOVE_VALUES_15 MOVE_VALUES_14 ", ?15"
#define MOVE_VALUES_16 MOVE_VALUES_15 ", ?16"
#define MOVE_VALUES_17 MOVE_VALUES_16 ", ?17"
#define MOVE_VALUES_18 MOVE_VALUES_17 ", ?18"
#define MOVE_VALUES_19 MOVE_VALUES_18 ", ?19"
#define MOVE_VALUES_20 MOVE_VALUES_19 ", ?20"
#define MOVE_VALUES_21 MOVE_VALUES_20 ", ?21"
#define MOVE_VALUES_22 MOVE_VALUES_21 ", ?22"

#define MOVE_QUERIES_OF(X, name, table, key_count, keys, count, types, columns)                              \
    X(MOVE_LIST_##name,                                                                                      \
      "SELECT " columns " FROM " table " WHERE (" MOVE_KEYS_##key_count keys ") > (" MOVE_VALUES_##key_count \
      ") ORDER BY " MOVE_KEYS_##key_count keys " LIMIT " MOVE_LIMIT_##key_count)                             \
    X(MOVE_LAST_##name, "SELECT " MOVE_KEYS_##key_count keys                                                 \
      " FROM " table " ORDER BY " MOVE_DESC_##key_count keys " LIMIT 1")                                     \
    X(MOVE_PUT_##name, "INSERT INTO " table " (" columns ") VALUES (" MOVE_VALUES_##count ")")

/* Returns the largest row id that must not be assigned again, although its row may have been deleted.
 * Returns 0 if the table has never had a row, or if it may assign the row ids of deleted rows again. */
#define SQL_MOVE_LAST_ID                                                                                     \
    "SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = ?1), 0), coalesce((SELECT value "     \
    "FROM meta WHERE key = CASE ?1 WHEN 'authors' THEN 'last_erased_author' WHEN 'api_keys' THEN "           \
    "'last_erased_key' END), 0))"
/* Keeps SQLite from assigning row ids up to ?2 in the table ?1. Runs before the table is copied. Has an
 * effect only on tables with AUTOINCREMENT: for authors and keys, `meta` contains the largest row id of an
 * erased row (erase.h), and in the other tables, the row ids of deleted rows may be assigned again. */
#define SQL_MOVE_RESERVE_IDS                                                                                 \
    "INSERT INTO sqlite_sequence (name, seq) SELECT ?1, ?2 WHERE ?1 IN ('platform_credentials', "            \
    "'webhook_endpoints') AND NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)"

/* The rows of `meta` that a move copies. */
#define SQL_MOVED_META                                                                                       \
    "key IN ('expiry_floor', 'expiry_ahead_wall', 'expiry_ahead_for', 'last_erased_author', "                \
    "'last_erased_key', 'key_rotations') OR (key >= 'ancestor:' AND key < 'ancestor;')"

#define STORE_MOVE_QUERIES(X)                                                                                \
    X(MOVE_LAST_ID, SQL_MOVE_LAST_ID)                                                                        \
    X(MOVE_RESERVE_IDS, SQL_MOVE_RESERVE_IDS)                                                                \
    X(MOVE_META, "SELECT key, value FROM meta WHERE " SQL_MOVED_META)                                        \
    X(MOVE_CLEAR_META, "DELETE FROM meta WHERE " SQL_MOVED_META)                                             \
    X(MOVE_STORE_ID, "UPDATE meta SET value = ?1 WHERE key = 'store_id'")                                    \
    X(MOVE_END, "DELETE FROM meta WHERE key = 'moving'")                                                     \
    STORE_MOVED_TABLES(MOVE_QUERIES_OF, X)

#endif
