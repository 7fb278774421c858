/* The part of queries.h with the statements about the audit log. */
#ifndef VT_STORE_AUDIT_QUERIES_H
#define VT_STORE_AUDIT_QUERIES_H

#define SQL_AUDIT                                                                                            \
    "u.author_id, u.id, u.at, u.action, u.actor, u.actor_name, u.address, u.subject, u.details, a.uuid"

#define STORE_AUDIT_QUERIES(X)                                                                               \
    X(AUDIT_INSERT,                                                                                          \
      "INSERT INTO audit (author_id, id, at, action, actor, actor_name, address, subject, details) "         \
      "VALUES (?1, 1 + coalesce((SELECT max(id) FROM audit WHERE author_id = ?1), 0), ?2, ?3, ?4, ?5, "      \
      "?6, ?7, ?8)")                                                                                         \
    X(AUDIT, "SELECT " SQL_AUDIT                                                                             \
             " FROM audit u INDEXED BY audit_by_author CROSS JOIN authors a ON a.id = u.author_id "          \
             "WHERE u.author_id = ?1 AND u.at >= ?2 ORDER BY u.at DESC, u.id DESC LIMIT ?3")                 \
    X(AUDIT_ALL, "SELECT " SQL_AUDIT                                                                         \
                 " FROM audit u INDEXED BY audit_by_time CROSS JOIN authors a ON a.id = u.author_id "        \
                 "WHERE u.at >= ?1 ORDER BY u.at DESC, u.author_id DESC, u.id DESC LIMIT ?2")                \
    X(AUDIT_COUNT_OF_DAY, "SELECT count(*) FROM audit INDEXED BY audit_by_author WHERE author_id = ?1 "      \
                          "AND at >= ?2 AND at < ?3 AND action = ?4")                                        \
    X(AUDIT_OLD, "SELECT author_id, id FROM audit INDEXED BY audit_by_time WHERE at < ?1 ORDER BY at, "      \
                 "author_id, id LIMIT ?2")                                                                   \
    X(AUDIT_DELETE, "DELETE FROM audit WHERE author_id = ?1 AND id = ?2")

#endif
