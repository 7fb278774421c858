/* The part of queries.h with the statements that delete an author, a video or a book (erase.h) or lower views
 * (lower_views.h). */
#ifndef VT_STORE_ERASE_QUERIES_H
#define VT_STORE_ERASE_QUERIES_H

#define SQL_LARGER_VALUE "CASE WHEN excluded.value > meta.value THEN excluded.value ELSE meta.value END"

#define STORE_ERASE_QUERIES(X)                                                                               \
    X(ERASE_WEBHOOK_REQUESTS, "DELETE FROM webhook_requests WHERE endpoint_id IN (SELECT id FROM "           \
                              "webhook_endpoints WHERE author_id = ?1)")                                     \
    X(ERASE_WEBHOOK_ATTEMPTS, "DELETE FROM webhook_attempts WHERE endpoint_id IN (SELECT id FROM "           \
                              "webhook_endpoints WHERE author_id = ?1)")                                     \
    X(ERASE_WEBHOOK_ENDPOINTS, "DELETE FROM webhook_endpoints WHERE author_id = ?1")                         \
    X(ERASE_AUDIT, "DELETE FROM audit WHERE author_id = ?1")                                                 \
    X(ERASE_EVENTS, "DELETE FROM events WHERE author_id = ?1")                                               \
    X(ERASE_PLATFORM_LINKS, "DELETE FROM platform_links WHERE author_id = ?1")                               \
    X(ERASE_PLATFORM_CREDENTIALS, "DELETE FROM platform_credentials WHERE author_id = ?1")                   \
    X(ERASE_LOGINS, "DELETE FROM logins WHERE author_id = ?1")                                               \
    X(ERASE_OAUTH_CODES, "DELETE FROM oauth_codes WHERE author_id = ?1")                                     \
    X(ERASE_API_KEYS, "DELETE FROM api_keys WHERE author_id = ?1")                                           \
    X(ERASE_BOOKS, "DELETE FROM books WHERE author_id = ?1")                                                 \
    X(ERASE_AUTHORS, "DELETE FROM authors WHERE id = ?1")                                                    \
    X(ERASE_DAILY, "DELETE FROM daily WHERE video_id = ?1")                                                  \
    X(ERASE_AUTHOR_DAILY, "DELETE FROM author_daily WHERE author_id = ?1")                                   \
    X(ERASE_VIDEO, "DELETE FROM videos WHERE id = ?1")                                                       \
    X(VIDEO_NEXT, "SELECT id FROM videos INDEXED BY videos_in_events WHERE author_id = ?1 AND id > ?2 "      \
                  "ORDER BY id LIMIT 1")                                                                     \
    X(VIDEO_NEXT_OF_BOOK,                                                                                    \
      "SELECT id FROM videos INDEXED BY videos_in_events WHERE author_id = ?1 AND id > ?2 "                  \
      "AND book_id = ?3 ORDER BY id LIMIT 1")                                                                \
    X(EVENTS_DELETE_VIDEO, "DELETE FROM events WHERE author_id = ?1 AND video_id = ?2")                      \
    X(AUTHOR_RESET_LAST_EVENT_ID,                                                                            \
      "UPDATE authors SET feed_rev = feed_rev + 1, last_event_id = "                                         \
      "coalesce((SELECT max(id) FROM events WHERE author_id = ?1), 0) WHERE id = ?1")                        \
    X(BOOK_COUNT_VIDEOS,                                                                                     \
      "SELECT count(*) FROM videos INDEXED BY videos_in_events WHERE author_id = ?1 AND book_id = ?2")       \
    X(BOOK_DETACH_VIDEOS,                                                                                    \
      "UPDATE videos INDEXED BY videos_in_events SET book_id = NULL WHERE author_id = ?1 AND book_id = ?2")  \
    X(BOOK_DELETE, "DELETE FROM books WHERE id = ?1")                                                        \
    X(RESERVE_AUTHOR_ROW, "INSERT INTO meta (key, value) VALUES ('last_erased_author', ?1) "                 \
                          "ON CONFLICT (key) DO UPDATE SET value = " SQL_LARGER_VALUE "")                    \
    X(RESERVE_KEY_ROWS, "INSERT INTO meta (key, value) SELECT 'last_erased_key', max(id) FROM api_keys "     \
                        "WHERE author_id = ?1 HAVING max(id) IS NOT NULL ON CONFLICT (key) DO UPDATE SET "   \
                        "value = " SQL_LARGER_VALUE)                                                         \
    X(TOMBSTONE, "SELECT erased_at FROM erased_authors WHERE hash = ?1")                                     \
    X(TOMBSTONE_INSERT,                                                                                      \
      "INSERT INTO erased_authors (hash, erased_at) VALUES (?1, ?2) ON CONFLICT (hash) DO NOTHING")          \
    X(TOMBSTONE_DELETE, "DELETE FROM erased_authors WHERE hash = ?1")                                        \
    X(DAY_INSERT, "INSERT INTO daily (video_id, day, gained, gained_total) VALUES (?1, ?2, ?3, ?4)")         \
    X(DAY_SET, "UPDATE daily SET gained = ?3, gained_total = ?4 WHERE video_id = ?1 AND day = ?2")           \
    X(DAY_DELETE, "DELETE FROM daily WHERE video_id = ?1 AND day = ?2")                                      \
    X(EVENTS_COUNT_ABOVE, "SELECT count(*) FROM events WHERE author_id = ?1 AND video_id = ?2 AND value > "  \
                          "?3")

#endif
