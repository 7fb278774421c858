/* The part of queries.h with the statements of author_archive.c. */
#ifndef VT_STORE_ARCHIVE_QUERIES_H
#define VT_STORE_ARCHIVE_QUERIES_H

#define STORE_ARCHIVE_QUERIES(X)                                                                             \
    X(ARCHIVE_KEYS, "SELECT " SQL_KEY ", k.hash, p.client_id, p.name, p.home_url FROM api_keys k "           \
                    "LEFT JOIN apps p ON p.id = k.app_id WHERE k.author_id = ?1 "                            \
                    "ORDER BY k.created_at, k.id")                                                           \
    X(ARCHIVE_BOOKS, "SELECT " SQL_BOOK " FROM books b INDEXED BY books_by_author WHERE b.author_id = ?1 "   \
                     "ORDER BY b.created_at DESC, b.uuid DESC")                                              \
    X(ARCHIVE_EVENTS, "SELECT " SQL_EVENT ", v.uuid FROM events e LEFT JOIN videos v ON v.id = e.video_id "  \
                      "WHERE e.author_id = ?1 ORDER BY e.id")                                                \
    X(EVENT_ID_SHARED, "SELECT o.id FROM events o CROSS JOIN events e ON e.author_id = ?1 AND e.id = o.id "  \
                       "WHERE o.author_id = ?2 AND o.id BETWEEN "                                            \
                       "(SELECT min(id) FROM events WHERE author_id = ?1) AND "                              \
                       "(SELECT max(id) FROM events WHERE author_id = ?1) ORDER BY o.id LIMIT 1")

#endif
