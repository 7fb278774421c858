/* The part of queries.h with the statements about authors, their API keys and their sign-ins. */
#ifndef VT_STORE_AUTHOR_QUERIES_H
#define VT_STORE_AUTHOR_QUERIES_H

#define SQL_AUTHOR                                                                                           \
    "a.id, a.uuid, a.name, a.plan_active, a.created_at, a.rev, a.last_event_id, a.books_count, "             \
    "a.videos_count, a.views_refreshed_at"
#define SQL_KEY                                                                                              \
    "k.id, k.author_id, k.uuid, k.name, k.suffix, k.created_at, k.last_used_at, k.revoked_at, k.app_id"
#define SQL_KEY_OWNER                                                                                        \
    "k.id, k.author_id, k.uuid, k.revoked_at, k.last_used_at, a.uuid, a.plan_active, a.rev, a.feed_rev, "    \
    "a.last_event_id"
#define SQL_KEY_AND_APP SQL_KEY ", p.name, p.home_url"
#define SQL_VIEWER      "a.id, a.uuid, a.name, a.plan_active, l.name, l.password"

/* A row id that is higher than the id of every existing row and of every erased row (erase.h). */
#define SQL_UNUSED_ROW(table, erased)                                                                        \
    "1 + max(coalesce((SELECT max(id) FROM " table "), 0), "                                                 \
    "coalesce((SELECT value FROM meta WHERE key = '" erased "'), 0))"

/* `id` is the name of the column id and `value` is its value, each followed by a comma; both are empty if the
 * database assigns the id. */
#define SQL_AUTHOR_INSERT(id, value)                                                                         \
    "INSERT INTO authors (" id "uuid, name, plan_active, created_at) VALUES (" value                         \
    "?1, ?2, ?3, ?4) RETURNING id"
#define SQL_KEY_INSERT(id, value)                                                                            \
    "INSERT INTO api_keys (" id                                                                              \
    "uuid, author_id, hash, name, suffix, created_at, app_id, last_used_at, revoked_at) VALUES (" value      \
    "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) RETURNING id"

#define STORE_AUTHOR_QUERIES(X)                                                                              \
    /* authors */                                                                                            \
    X(AUTHOR_BY_UUID, "SELECT " SQL_AUTHOR " FROM authors a WHERE a.uuid = ?1")                              \
    X(AUTHOR_BY_ROW, "SELECT " SQL_AUTHOR " FROM authors a WHERE a.id = ?1")                                 \
    X(AUTHORS, "SELECT " SQL_AUTHOR " FROM authors a ORDER BY a.created_at, a.uuid")                         \
    X(AUTHOR_INSERT, SQL_AUTHOR_INSERT("id, ", SQL_UNUSED_ROW("authors", "last_erased_author") ", "))        \
    X(AUTHOR_UPDATE, "UPDATE authors SET name = ?2, plan_active = ?3, rev = rev + 1 WHERE id = ?1")          \
    X(AUTHOR_PLAN, "SELECT plan_active FROM authors WHERE id = ?1")                                          \
    X(AUTHOR_TOUCH, "UPDATE authors SET rev = rev + 1, views_refreshed_at = "                                \
                    "CASE WHEN ?2 > coalesce(views_refreshed_at, -1) THEN ?2 ELSE views_refreshed_at END "   \
                    "WHERE id = ?1")                                                                         \
    X(AUTHOR_SET_LAST_EVENT_ID,                                                                              \
      "UPDATE authors SET last_event_id = ?2, feed_rev = feed_rev + 1 WHERE id = ?1")                        \
    X(AUTHOR_ADJUST, "UPDATE authors SET books_count = books_count + ?2, videos_count = videos_count + ?3, " \
                     "feed_rev = feed_rev + ?4 WHERE id = ?1")                                               \
                                                                                                             \
    /* API keys */                                                                                           \
    X(KEY_OWNER, "SELECT " SQL_KEY_OWNER " FROM api_keys k CROSS JOIN authors a ON a.id = k.author_id "      \
                 "WHERE k.hash = ?1")                                                                        \
    X(ACCOUNT, "SELECT " SQL_AUTHOR ", " SQL_KEY                                                             \
               " FROM api_keys k CROSS JOIN authors a ON a.id = k.author_id WHERE k.id = ?1")                \
    X(KEY_BY_UUID, "SELECT " SQL_KEY " FROM api_keys k WHERE k.uuid = ?1")                                   \
    X(KEYS, "SELECT " SQL_KEY " FROM api_keys k WHERE k.author_id = ?1 ORDER BY k.created_at, k.id")         \
    X(KEY_BY_HASH, "SELECT " SQL_KEY " FROM api_keys k WHERE k.hash = ?1")                                   \
    X(KEY_INSERT, SQL_KEY_INSERT("id, ", SQL_UNUSED_ROW("api_keys", "last_erased_key") ", "))                \
    X(KEY_BY_ROW, "SELECT " SQL_KEY " FROM api_keys k WHERE k.id = ?1")                                      \
    X(KEY_REVOKE, "UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1")                 \
    X(KEY_SET_FIRST_USED, "UPDATE api_keys SET last_used_at = ?2 WHERE id = ?1 AND last_used_at IS NULL")    \
    X(KEY_SET_USED,                                                                                          \
      "UPDATE api_keys SET last_used_at = ?2 WHERE id = ?1 AND coalesce(last_used_at, -1) < ?2")             \
                                                                                                             \
    /* the keys of an author, for the web pages: live, revoked */                                            \
    X(KEYS_LIVE, "SELECT " SQL_KEY_AND_APP " FROM api_keys k INDEXED BY api_keys_live "                      \
                 "LEFT JOIN apps p ON p.id = k.app_id WHERE k.author_id = ?1 AND k.revoked_at IS NULL "      \
                 "ORDER BY k.created_at DESC, k.id DESC LIMIT ?2")                                           \
    X(KEYS_REVOKED, "SELECT " SQL_KEY_AND_APP " FROM api_keys k INDEXED BY api_keys_by_author "              \
                    "LEFT JOIN apps p ON p.id = k.app_id WHERE k.author_id = ?1 "                            \
                    "AND k.revoked_at IS NOT NULL ORDER BY k.created_at DESC, k.id DESC LIMIT ?2")           \
    X(KEY_OF_AUTHOR, "SELECT " SQL_KEY_AND_APP " FROM api_keys k LEFT JOIN apps p ON p.id = k.app_id "       \
                     "WHERE k.uuid = ?1 AND k.author_id = ?2")                                               \
    X(KEYS_COUNT, "SELECT count(*) FROM api_keys INDEXED BY api_keys_live "                                  \
                  "WHERE author_id = ?1 AND revoked_at IS NULL AND (app_id IS DISTINCT FROM ?2 OR ?2 = 0)")  \
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
    X(LOGIN_SET_PASSWORD,                                                                                    \
      "UPDATE logins SET password = ?2, password_set_at = coalesce(?3, password_set_at) "                    \
      "WHERE author_id = ?1")                                                                                \
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
    X(INVITATION, "SELECT " SQL_VIEWER ", i.login, i.created_at, i.expires_at, i.used_at "                   \
                  "FROM invitations i "                                                                      \
                  "CROSS JOIN authors a ON a.id = i.author_id LEFT JOIN logins l ON l.author_id = a.id "     \
                  "WHERE i.hash = ?1")                                                                       \
    X(INVITATION_INSERT, "INSERT INTO invitations (hash, author_id, login, created_at, expires_at) "         \
                         "VALUES (?1, ?2, ?3, ?4, ?5)")                                                      \
    X(INVITATION_USE, "UPDATE invitations SET used_at = ?2 WHERE hash = ?1 AND used_at IS NULL "             \
                      "AND expires_at > ?2")                                                                 \
    X(INVITATION_PENDING, "SELECT author_id FROM invitations WHERE author_id = ?1 AND used_at IS NULL "      \
                          "AND expires_at > ?2 AND created_at <= ?3 LIMIT 1")                                \
    X(INVITATIONS_DELETE_AUTHOR, "DELETE FROM invitations WHERE author_id = ?1")

#endif
