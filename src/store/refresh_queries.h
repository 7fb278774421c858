/* The part of queries.h with the statements about refresh runs, leases, scheduled backups and spool files. */
#ifndef VT_STORE_REFRESH_QUERIES_H
#define VT_STORE_REFRESH_QUERIES_H

#define SQL_SPOOL_FILE "id, name, size, inode, modified_ns, applied_at, step_at, step_author"

#define STORE_REFRESH_QUERIES(X)                                                                             \
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
    X(ANCESTOR, "SELECT value FROM meta WHERE key >= 'ancestor:' || ?1 AND key < 'ancestor:' || ?1 || 'G' "  \
                "LIMIT 1")                                                                                   \
    X(RUN_INSERT, "INSERT INTO refresh_runs (cause, holder, started_at) VALUES (?1, ?2, ?3) RETURNING id")   \
    X(RUN_FINISH, "UPDATE refresh_runs SET finished_at = ?2, outcome = ?3, error = ?4 WHERE id = ?1")        \
    X(RUN_COUNT_PUT,                                                                                         \
      "INSERT INTO refresh_counts (run_id, source, platform, name, value) VALUES (?1, ?2, ?3, ?4, ?5)")      \
    X(RUNS_ABANDON,                                                                                          \
      "UPDATE refresh_runs INDEXED BY refresh_runs_unfinished SET outcome = 4 WHERE outcome IS NULL")        \
    X(RUNS_PRUNE, "DELETE FROM refresh_runs WHERE id <= ?1 AND id <> coalesce((SELECT max(id) FROM "         \
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
    X(VIDEOS_COUNT_LIVE, "SELECT count(*), count(*) FILTER (WHERE coalesce(views_updated_at, posted_at) < "  \
                         "?4) FROM videos INDEXED BY "                                                       \
                         "videos_by_author WHERE author_id = ?1 AND posted_at >= ?2 AND posted_at <= ?3")    \
                                                                                                             \
    /* files of the spool */                                                                                 \
    X(SPOOL_FIND, "SELECT " SQL_SPOOL_FILE " FROM spool_files WHERE name = ?1")                              \
    X(SPOOL_NEXT, "SELECT " SQL_SPOOL_FILE " FROM spool_files WHERE id > ?1 ORDER BY id LIMIT 1")            \
    X(SPOOL_INSERT,                                                                                          \
      "INSERT INTO spool_files (name, size, inode, modified_ns) VALUES (?1, ?2, ?3, ?4) RETURNING id")       \
    X(SPOOL_SAVE, "UPDATE spool_files SET applied_at = ?2, step_at = ?3, step_author = ?4 WHERE id = ?1")    \
    X(SPOOL_DELETE, "DELETE FROM spool_files WHERE id = ?1")                                                 \
    X(SPOOL_ERROR_ADD, "INSERT INTO spool_errors (file_id, line, reason) VALUES (?1, ?2, ?3) "               \
                       "ON CONFLICT (file_id, line) DO NOTHING")                                             \
    X(SPOOL_ERROR_COUNT, "SELECT count(*) FROM spool_errors WHERE file_id = ?1")                             \
    X(SPOOL_ERRORS, "SELECT line, reason FROM spool_errors WHERE file_id = ?1 ORDER BY line")

#endif
