/* The part of queries.h with the statements about apps and authorization codes. */
#ifndef VT_STORE_APP_QUERIES_H
#define VT_STORE_APP_QUERIES_H

#define SQL_APP                                                                                              \
    "p.id, p.client_id, p.name, p.home_url, p.secret_hash, p.created_at, p.removed_at, p.webhook_url"

/* Deletes at most 100 codes. Runs before each insertion of a code, so that old codes do not accumulate. */
#define SQL_CODES_PURGE(index, which)                                                                        \
    "DELETE FROM oauth_codes WHERE hash IN (SELECT hash FROM oauth_codes INDEXED BY " index " WHERE " which  \
    " AND created_at < ?1 ORDER BY created_at LIMIT 100)"

#define STORE_APP_QUERIES(X)                                                                                 \
    /* apps */                                                                                               \
    X(APP_BY_CLIENT_ID, "SELECT " SQL_APP " FROM apps p WHERE p.client_id = ?1")                             \
    X(APP_WITH_REDIRECTS, "SELECT " SQL_APP ", r.uri FROM apps p "                                           \
                          "LEFT JOIN app_redirects r ON r.app_id = p.id WHERE p.client_id = ?1 "             \
                          "ORDER BY r.uri")                                                                  \
    X(APPS, "SELECT " SQL_APP " FROM apps p ORDER BY p.id")                                                  \
    X(APP_INSERT, "INSERT INTO apps (client_id, name, home_url, secret_hash, created_at) "                   \
                  "VALUES (?1, ?2, ?3, ?4, ?5) RETURNING id")                                                \
    X(APP_SET_SECRET, "UPDATE apps SET secret_hash = ?2 WHERE id = ?1")                                      \
    X(APP_REMOVE, "UPDATE apps SET removed_at = coalesce(removed_at, ?2) WHERE id = ?1")                     \
    X(APP_REDIRECTS, "SELECT uri FROM app_redirects WHERE app_id = ?1 ORDER BY uri")                         \
    X(APP_REDIRECT_INSERT,                                                                                   \
      "INSERT INTO app_redirects (app_id, uri) VALUES (?1, ?2) ON CONFLICT (app_id, uri) DO NOTHING")        \
    X(APP_KEYS_LIVE, "SELECT count(*) FROM api_keys WHERE app_id = ?1 AND revoked_at IS NULL")               \
    X(APP_KEY_NEXT_LIVE,                                                                                     \
      "SELECT id, author_id FROM api_keys INDEXED BY api_keys_by_app WHERE app_id = ?1 "                     \
      "AND (author_id, id) > (?2, ?3) AND revoked_at IS NULL ORDER BY author_id, id LIMIT 1")                \
                                                                                                             \
    /* authorization codes */                                                                                \
    X(CODE_INSERT, "INSERT INTO oauth_codes (hash, app_id, author_id, redirect_uri, challenge, created_at, " \
                   "webhook_url) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")                                       \
    X(CODE_BY_HASH, "SELECT app_id, author_id, redirect_uri, challenge, created_at, used_at, key_id, "       \
                    "webhook_url FROM oauth_codes WHERE hash = ?1")                                          \
    X(CODE_USE, "UPDATE oauth_codes SET used_at = ?2, key_id = ?3 WHERE hash = ?1 AND used_at IS NULL")      \
    X(CODES_PURGE_IDLE, SQL_CODES_PURGE("oauth_codes_idle", "key_id IS NULL"))                               \
    X(CODES_PURGE_SPENT, SQL_CODES_PURGE("oauth_codes_spent", "key_id IS NOT NULL"))

#endif
