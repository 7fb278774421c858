/* The part of queries.h with the statements about webhooks. */
#ifndef VT_STORE_WEBHOOK_QUERIES_H
#define VT_STORE_WEBHOOK_QUERIES_H

/* An endpoint of an app has the secret of the app. It is connected (the last column) only while the app has a
 * live key of the author, and the URL of the app's webhook is the URL to which the author has consented. The
 * subselect with LIMIT 1 replaces EXISTS, for which PostgreSQL might read the list of all keys. */
#define SQL_WEBHOOK                                                                                          \
    "e.id, e.uuid, e.author_id, e.app_id, e.url, e.types, coalesce(e.secret, p.webhook_secret), "            \
    "coalesce(e.old_secret, p.webhook_old_secret), coalesce(e.old_secret_until, "                            \
    "p.webhook_old_secret_until), "                                                                          \
    "e.created_at, e.state, e.state_at, e.position, e.failures, e.next_attempt_at, e.attempts, a.uuid, "     \
    "a.plan_active, a.last_event_id, p.name, p.client_id, e.app_id IS NULL OR (p.webhook_url IS NOT "        \
    "DISTINCT FROM e.url AND "                                                                               \
    "(SELECT k.id FROM api_keys k WHERE k.app_id = e.app_id AND k.author_id = e.author_id "                  \
    "AND k.revoked_at IS NULL LIMIT 1) IS NOT NULL)"

#define SQL_FROM_WEBHOOKS                                                                                    \
    " FROM webhook_endpoints e CROSS JOIN authors a ON a.id = e.author_id "                                  \
    "LEFT JOIN apps p ON p.id = e.app_id WHERE "

/* 172800000 ms are two days, longer than any pause between attempts. If a stored time is further ahead, the
 * clock has been set back since the time was stored, so the endpoint is due. */
#define SQL_WEBHOOK_IS_DUE                                                                                   \
    "(e.next_attempt_at IS NULL OR e.next_attempt_at <= ?2 OR e.next_attempt_at - 172800000 > ?2)"

#define STORE_WEBHOOK_QUERIES(X)                                                                             \
    X(WEBHOOK_INSERT,                                                                                        \
      "INSERT INTO webhook_endpoints (uuid, author_id, app_id, url, types, secret, "                         \
      "created_at, state_at, position) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8) RETURNING id")            \
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
    X(APP_SECRETS,                                                                                           \
      "SELECT id, CAST(0 AS bigint), client_id, webhook_secret, webhook_old_secret FROM apps WHERE id > ?1 " \
      "AND webhook_secret IS NOT NULL ORDER BY id LIMIT ?2")                                                 \
    X(APP_RESEAL, "UPDATE apps SET webhook_secret = ?2, webhook_old_secret = ?3 WHERE id = ?1")

#endif
