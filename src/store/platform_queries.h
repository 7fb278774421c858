/* The part of queries.h with the statements about accounts, posts and limits at the platforms. */
#ifndef VT_STORE_PLATFORM_QUERIES_H
#define VT_STORE_PLATFORM_QUERIES_H

#define SQL_CREDENTIAL                                                                                       \
    "id, author_id, api, account_id, account_name, scopes, access_sealed, refresh_sealed, "                  \
    "access_expires_at, refresh_expires_at, obtained_at, state, version, refresh_sent_at, failures, "        \
    "last_error, last_error_at, last_ok_at, tier, dropped, tier_until, is_personal"
#define SQL_PLATFORM_POST                                                                                    \
    "platform, post_id, resolved_id, credential_id, views_source, misses, missed_since, is_permanent, "      \
    "requested_at"

#define STORE_PLATFORM_QUERIES(X)                                                                            \
    X(CREDENTIAL, "SELECT " SQL_CREDENTIAL " FROM platform_credentials WHERE id = ?1")                       \
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
      "version = platform_credentials.version + 1, refresh_sent_at = NULL, failures = 0, last_error = "      \
      "NULL, last_error_at = "                                                                               \
      "NULL, is_personal = excluded.is_personal, "                                                           \
      "tier = 0, dropped = '', tier_until = NULL WHERE platform_credentials.author_id = excluded.author_id " \
      "RETURNING id, "                                                                                       \
      "version")                                                                                             \
    X(CREDENTIAL_SWAP,                                                                                       \
      "UPDATE platform_credentials SET access_sealed = ?3, refresh_sealed = ?4, access_expires_at = ?5, "    \
      "refresh_expires_at = ?6, scopes = ?7, obtained_at = ?8, state = 0, version = version + 1, "           \
      "refresh_sent_at = NULL, failures = 0 WHERE id = ?1 AND version = ?2")                                 \
    X(CREDENTIAL_RESEAL,                                                                                     \
      "UPDATE platform_credentials SET access_sealed = ?2, refresh_sealed = ?3 WHERE id = ?1")               \
    X(KEY_ROTATION_COUNT, "INSERT INTO meta (key, value) VALUES ('key_rotations', 1) "                       \
                          "ON CONFLICT (key) DO UPDATE SET value = meta.value + 1")                          \
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
    X(PLATFORM_POST_PUT,                                                                                     \
      "INSERT INTO platform_posts (" SQL_PLATFORM_POST ") "                                                  \
      "SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9 WHERE EXISTS "                                              \
      "(SELECT 1 FROM post_keys WHERE platform = ?1 AND post_id = ?2) "                                      \
      "ON CONFLICT (platform, post_id) DO UPDATE SET "                                                       \
      "resolved_id = excluded.resolved_id, credential_id = excluded.credential_id, views_source = "          \
      "excluded.views_source, misses = excluded.misses, missed_since = excluded.missed_since, is_permanent " \
      "= excluded.is_permanent, requested_at = excluded.requested_at")                                       \
    X(PLATFORM_POST_DELETE, "DELETE FROM platform_posts WHERE platform = ?1 AND post_id = ?2")               \
    X(LIMIT_GET, "SELECT value, until FROM platform_limits WHERE api = ?1 AND name = ?2")                    \
    X(LIMIT_PUT, "INSERT INTO platform_limits (api, name, value, until) VALUES (?1, ?2, ?3, ?4) ON "         \
                 "CONFLICT (api, name) DO UPDATE SET value = excluded.value, until = excluded.until")        \
    X(LIMIT_DELETE, "DELETE FROM platform_limits WHERE api = ?1 AND name = ?2")                              \
    X(LIMITS, "SELECT name, value, until FROM platform_limits WHERE api = ?1 ORDER BY name")

#endif
